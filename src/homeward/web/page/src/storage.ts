// Values that the browser keeps between visits; where storage is closed to us, nothing is kept.

/** Return a kept value, null if there is none. */
export function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keep a value, or forget it if it is null. */
export function store(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // it is forgotten with the page
  }
}

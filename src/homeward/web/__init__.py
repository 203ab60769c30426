"""The web page and its server, which show, explain and start runs. Needs the extra ``web``.

``app`` answers requests. Separate processes compute views (`pool`, `service`), execute runs
(`jobs`, `job`) and read uploads (`uploads`, `upload_reader`). ``docs/http-api.md`` describes
the interface.
"""

"""The web page and its server: show, explain and start runs. Needs the extra ``web``.

``app`` only answers requests: viewers (`pool`, `service`), runs (`jobs`, `job`) and readers of
uploads (`uploads`, `reading`) are separate processes. ``docs/api.md`` describes the interface.
"""

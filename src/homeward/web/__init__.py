"""The page and its server: watch an explorer decide, and see why. Needs the extra ``web``.

``app`` answers requests and computes nothing itself: viewers work in processes of their own
(`pool`, `desk`), and so do runs (`jobs`, `job`) and whatever opens an upload (`uploads`,
`reading`). The interface is told in ``docs/api.md``.
"""

"""The audit as a PySpark job: ``spark-submit validation/audit.py --stack prod --out reports/``.

The same as ``python -m topicwarden.audit``, which is in the wheel.
"""

import runpy

runpy.run_module("topicwarden.audit", run_name="__main__")

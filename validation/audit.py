"""The audit as a PySpark job: ``spark-submit validation/audit.py --stack prod --out reports/``.

The same options and exit codes as ``topicwarden audit``; Spark's master is what spark-submit was given.
"""

import sys

from topicwarden.cli.main import run

sys.argv[1:1] = ["audit"]
run()

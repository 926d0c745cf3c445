"""The audit as a PySpark job: ``python -m topicwarden.audit --stack prod``, or this file with ``spark-submit``.

The same options and exit codes as ``topicwarden audit``; Spark's master is what spark-submit was given.
"""

import sys
from pathlib import Path

# spark-submit puts the folder of this file on the path, where modules of the audit would hide those of other packages.
_OWN_FOLDERS = {Path(__file__).absolute().parent, Path(__file__).resolve().parent}  # the file may be a link
sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() not in _OWN_FOLDERS]

from topicwarden.__main__ import main  # noqa: E402

sys.argv[1:1] = ["audit"]
try:
    main()
except SystemExit as end:
    if end.code:  # some platforms report a job that ends with SystemExit(0) as failed
        raise

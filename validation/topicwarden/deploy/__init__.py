"""Everything that uses Pulumi: the program and its components, the policy pack, the engine, and a language host."""

import os

# With its fork handlers, gRPC aborts some child processes before they execute their program ("Epoll1Poller encountered
# epoll_wait error: Bad file descriptor"). No child process of ours uses gRPC before that. gRPC reads this when it is
# imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

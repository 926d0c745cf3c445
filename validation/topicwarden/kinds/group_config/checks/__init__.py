"""The checks of settings of groups in an audit."""

"""The plots of pages, as SVG and HTML. Each module makes one kind."""

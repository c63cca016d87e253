"""The product on one machine: the template's routes and tables, served by the real handlers over a child store."""

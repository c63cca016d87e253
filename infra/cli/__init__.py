"""The command line `hopscope`: talks to a server over HTTP, as any other caller does; it never touches the store."""

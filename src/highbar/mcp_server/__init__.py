"""Questions of a coding agent in, short structured answers out, over the Model Context Protocol.

A tool is a function from arguments to an answer. It calls what the command line calls, and computes nothing.

    tools         every tool in one table: name, description, arguments, answer, and how large an answer may be
    confinement   the folder of the server: no file outside of it is read, none is written, and no code is run
    answering     a call in, an answer or its problems out: validated, escaped, and cut to size
    serving       the same as a server of the official SDK, on standard input and output
"""

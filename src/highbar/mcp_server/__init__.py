"""Questions of a coding agent in, short structured answers out, over the Model Context Protocol.

A tool is a function from arguments to an answer. It calls the same functions as the command line, and computes nothing.

    tools         all tools in one table: name, description, arguments, answer, and the size limit of an answer
    checking      `check` and `explain_rule`; failures, comparing, plans, histories, policy_words, runs: the others
    confinement   the folder of the server: no file outside of it is read, no file is written, and no code is run
    answering     a call in, an answer or its problems out: validated, escaped, and cut to size
    texts         answers → JSON values that are safe to show to a model
    serving       the tools as a server of the official SDK, on standard input and output
"""

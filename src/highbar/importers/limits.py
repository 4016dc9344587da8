"""Every limit of the importers, with its reason: an untrusted file must not exhaust memory, disk or a reader."""

from __future__ import annotations

from highbar.language import limits

# Bytes at the start of a file that are searched to recognize its format: one read, and every sign is within it.
HEAD = 64 * 1024
# Bytes at the start of a file, packed and unpacked, in which our own rows have an id; a bomb stops there.
LARGEST_HEAD = 1 << 24

# --- Memory ------------------------------------------------------------------------------------

# Bytes of rows or spans that wait in memory for the end of the file. Further rows go to disk; spans are read again.
MEMORY = 128 * 1024 * 1024
# Bytes of one JSON value or one line: several of these fit into the memory that an import may use.
LARGEST_VALUE = 256 * 1024 * 1024
# Bytes of XML in which no tag and no text ends: the parser has all of them in memory.
LARGEST_TAG = 64 * 1024 * 1024
# Levels of XML tags. JUnit files have about five; each level takes memory.
DEEPEST_TAG = 256
# Characters of one CSV cell: the csv module refuses more than 128 KiB by default, and transcripts are longer.
LONGEST_CELL = 16 * 1024 * 1024

# --- Zip archives ------------------------------------------------------------------------------

# Members of an archive: `zipfile` makes an object of each. A log has one for each sample.
MOST_MEMBERS = 250_000
# Unpacked bytes of one member, which is in memory as a whole.
LARGEST_MEMBER = 512 * 1024 * 1024
# Unpacked bytes of all members: members are read one by one, so this bounds time and not memory.
LARGEST_ARCHIVE = 64 * 1024**3
# Unpacked size ÷ packed size. Deflate shrinks repetitive logs to a hundredth, and a bomb to less than a thousandth.
LARGEST_RATIO = 1000
# Members of up to this size may have any ratio: they cannot do harm.
SMALL_MEMBER = 1024 * 1024
# Bytes that one step of unpacking may return, so that unpacking stops soon after the declared size.
LARGEST_STEP = 4 * 1024 * 1024

# --- Rows --------------------------------------------------------------------------------------

# Characters of an input, an output or an error: enough to show, and no metric reads them.
LONGEST_TEXT = 20_000
# Characters of a value that becomes a tag or a label, as in suites.
LONGEST_TAG = limits.LONGEST_TAG
# Characters of an id that is made from a question; a longer one is cut and gets a digest.
LONGEST_ID = 80
# Characters of a number in a CSV cell: exact arithmetic on more digits is slow.
LONGEST_NUMBER = 400
# Trials of a scenario that a file may plan: every missing one becomes a row.
MOST_TRIALS = 10_000
# Larger numbers overflow in sums and squares.
LARGEST_NUMBER = 1e300
# What an infinite score of lm-evaluation-harness becomes: finite, and no average hides it.
LARGEST_SCORE = 1e18
# Seconds of a test, about 32 years: a larger number is a mistake.
LONGEST_SECONDS = 1e9

# --- Messages ----------------------------------------------------------------------------------

# Characters of a value in a message, which is one line.
LONGEST_SHOWN = 60
# Scorers that a message lists: a policy is written by this list, so it is longer than others.
MOST_SCORERS = 10
# Names, numbers or values that any other message lists.
MOST_NAMED = 5

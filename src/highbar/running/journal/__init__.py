"""Records in, an append-only file out that survives kills and power failures; and the same records back.

`writing` appends, and keeps a second process out; `syncing` makes what was appended durable; `reading` reads and tells
a torn tail from damage; `lines` is the form of one line. This package does not know what a record means.

**What can go wrong.** Killing the process loses nothing: each line is one `write`, and then the kernel has it. At most
the line that is being written is cut short. A power failure loses what was not synced: the file may be shorter or have
pages of zeros in it, and a later page may be there although an earlier one is not. A crash leaves nothing else. In
particular, no crash removes, doubles, swaps or changes lines, or adds text: that is damage, and not ours to repair.

**What can be trusted.** Each line has a checksum of its contents, and the checksum of the line before it. Let the good
part be the longest prefix of the file in which every line is whole and follows the one before it. The good part is
exactly what was written, in that order. What follows it is a torn tail, which is cut when the run is resumed, if

1. it consists of nothing but whole lines, lines with zero bytes in them, and at the very end the beginning of a line.
   No record has a zero byte, so zeros are a sign of lost pages. Adjacent whole lines still follow each other.
2. no whole line in it says that more lines were synced than the good part has. A line that was synced is on the disk:
   if a later line proves that it was, and it cannot be read, then the disk or someone else changed it.

Anything else is refused. So what is read is always a prefix of what was written, and contains every line that the file
still proves to have been synced. A file that was cut at the end of a line proves nothing about what it lost; the last
record of a finished run does, and so do the length and checksum of the journal in `run.json`.

All of this protects against damage, not against forgery: whoever can write into the folder can write a new journal.
"""

from highbar.running.journal.lines import JournalEnd
from highbar.running.journal.reading import JournalReader, open_journal, payload_at
from highbar.running.journal.writing import Journal

__all__ = ["Journal", "JournalEnd", "JournalReader", "open_journal", "payload_at"]

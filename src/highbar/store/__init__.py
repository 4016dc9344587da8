"""Documents that outlive a run: how they are written, how they are read back, and their JSON Schemas.

A JSON document is described once, by the forms of its fields; writing, reading and the schema all follow from that.

    forms                         values of the model ↔ JSON and its schema; `shared`: what several share
    verdict, verdict_parts        the verdict; comparison, plan and calibration are documents of the same kind
    run_document                  `run.json` in a run folder: what a run planned and did
    label_form, labels            `labels.jsonl`: what people said about the statements that a judge judged
    baseline_text                 a baseline → its text; `baseline_reading` reads it, and scenarios in the same form
    history, history_footer       a record of the history, and the part of it that a list reads
    history_documents             what `highbar history` prints as JSON
    reading, writing              any document in a file: refused with the line; whole or not at all
"""

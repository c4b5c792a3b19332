/* The fields of rootcause.json: names, kinds and meanings, once. */
#ifndef TP_ROOTCAUSE_ROOTCAUSE_FIELDS_H
#define TP_ROOTCAUSE_ROOTCAUSE_FIELDS_H

/* clang-format off */

#define ROOTCAUSE_NUMBER_FIELDS(X)                                                                 \
    X(TEXT, _, name, "")                                                                           \
    X(REAL, _, value, "")                                                                          \
    X(TEXT, _, unit, "")                                                                           \
    X(TEXT, _, note, "where it comes from; of a value that is null: why")

#define ROOTCAUSE_CAUSE_FIELDS(X)                                                                  \
    X(TEXT, _, rule, "")                                                                           \
    X(TEXT, _, statement, "")                                                                      \
    X(TEXT, _, evidence, "the numbers that fired the rule")                                        \
    X(TEXT, _, refuted_by, "a measurement that would prove it wrong")                              \
    X(TEXT, _, test, "how to make that measurement")                                               \
    X(REAL, _, gain_low_s, "")                                                                     \
    X(REAL, _, gain_high_s, "estimated upper limit of what can be saved, wall s")                  \
    X(TEXT, _, confidence, "high, medium, low")

#define ROOTCAUSE_ACTION_FIELDS(X)                                                                 \
    X(TEXT, _, rule, "of the cause it is about")                                                   \
    X(TEXT, _, text, "")                                                                           \
    X(REAL, _, effort_days, "rough: 0.1 a setting, 1 code, 5 another format or machine")           \
    X(REAL, _, expected_low_s, "that it saves")                                                    \
    X(REAL, _, expected_high_s, "likewise")                                                        \
    X(REAL, _, measured_s, "what its cause cost less in the later run; null: not compared")

#define ROOTCAUSE_CHECK_FIELDS(X)                                                                  \
    X(TEXT, _, what, "")                                                                           \
    X(TEXT, _, state, "holds, fails, unknown")                                                     \
    X(TEXT, _, text, "with its numbers; of an unknown one: how to find out")

/* Filled in by `tomoprof compare`. */
#define ROOTCAUSE_LATER_FIELDS(X)                                                                  \
    X(TEXT, _, run, "name of its folder")                                                          \
    X(REAL, _, before_s, "wall time of this run")                                                  \
    X(REAL, _, after_s, "of the later one")                                                        \
    X(REAL, _, before_cpu_s, "")                                                                   \
    X(REAL, _, after_cpu_s, "")

#define ROOTCAUSE_FIELDS(X)                                                                        \
    X(TEXT, _, subject, "program or file")                                                         \
    X(TEXT, _, date, "UTC")                                                                        \
    X(TEXT, _, summary, "what limits it")                                                          \
    X(TEXT, _, number_name, "of the one number that matters")                                      \
    X(REAL, _, number, "")                                                                         \
    X(TEXT, _, number_unit, "")                                                                    \
    X(LIST, rootcause_number, evidence, "")                                                        \
    X(LIST, rootcause_cause, causes, "the largest gain first")                                     \
    X(LIST, rootcause_action, actions, "by gain over effort")                                      \
    X(MAYBE, rootcause_later, later, "the run that it was compared with; null: none")              \
    X(LIST, rootcause_check, checks, "that a change must keep")                                    \
    X(WORDS, _, questions, "that the recording cannot answer")                                     \
    X(TEXT, _, details, "tables, as plain text; null none")

/* All but the file itself, what is embedded before what holds it. */
#define ROOTCAUSE_STRUCTS(X)                                                                       \
    X(rootcause_number, ROOTCAUSE_NUMBER_FIELDS)                                                   \
    X(rootcause_cause, ROOTCAUSE_CAUSE_FIELDS)                                                     \
    X(rootcause_action, ROOTCAUSE_ACTION_FIELDS)                                                   \
    X(rootcause_later, ROOTCAUSE_LATER_FIELDS)                                                     \
    X(rootcause_check, ROOTCAUSE_CHECK_FIELDS)

/* clang-format on */

#endif

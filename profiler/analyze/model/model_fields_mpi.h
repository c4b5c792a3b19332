/* profile.json: the ranks of an MPI program (see model_fields.h for the form). */
#ifndef TP_ANALYZE_MODEL_MODEL_FIELDS_MPI_H
#define TP_ANALYZE_MODEL_MODEL_FIELDS_MPI_H

/* clang-format off */

#define MODEL_RANK_FIELDS(X)                                                                       \
    X(INT, _, rank, "in MPI_COMM_WORLD")                                                           \
    X(INDEX, _, process, "in processes")                                                           \
    X(FLAG, _, whole, "it reached MPI_Finalize")                                                   \
    X(REAL, _, wall_s, "from the end of MPI_Init to MPI_Finalize, or its last call")               \
    X(REAL, _, compute_s, "wall_s outside of MPI")                                                 \
    X(REAL, _, late_s, "in MPI, until a rank that was late had come")                              \
    X(REAL, _, transfer_s, "the rest in MPI: transfers, and what is not known to be a wait")       \
    X(REAL, _, delayed_s, "that other ranks waited for this one, added")                           \
    X(INT, _, calls, "of MPI")                                                                     \
    X(REAL, _, given_mb, "that its calls handed to MPI; receives count nothing")
#define MODEL_MPI_LINE_FIELDS(X)                                                                   \
    X(TEXT, _, file, "key of files; null where no line is known")                                  \
    X(INT, _, line, "")                                                                            \
    X(TEXT, _, function, "")                                                                       \
    X(TEXT, _, call, "of MPI: Allreduce")                                                          \
    X(INT, _, ranks, "that came here")                                                             \
    X(INT, _, calls, "of 10 us or more where a line is known; ranks added")                        \
    X(REAL, _, spent_s, "in them; ranks added")                                                    \
    X(REAL, _, late_s, "part of spent_s: until a rank that was late had come")                     \
    X(REAL, _, given_mb, "of a receive the room; null where it is not known")                      \
    X(INT, _, late_rank, "the one that most of late_s was for; null none")                         \
    X(REAL, _, late_rank_s, "part of late_s that was for it")
#define MODEL_MPI_PAIR_FIELDS(X)                                                                   \
    X(INT, _, from, "rank")                                                                        \
    X(INT, _, to, "rank")                                                                          \
    X(INT, _, messages, "of calls from one rank to another; not those of collective calls")        \
    X(REAL, _, mb, "")
#define MODEL_MPI_RANGE_FIELDS(X)                                                                  \
    X(INDEX, _, range, "in ranges")                                                                \
    X(INT, _, ranks, "that had it")                                                                \
    X(INT, _, n, "instances, ranks added")                                                         \
    X(REAL, _, mean_s, "of its time outside of MPI, over all ranks")                               \
    X(REAL, _, most_s, "of the rank that took longest")                                            \
    X(INT, _, most_rank, "that rank")                                                              \
    X(REAL, _, imbalance, "most_s / mean_s - 1: 0 where all ranks took as long")                   \
    X(REAL, _, in_mpi_s, "of its time in MPI, mean over all ranks")
#define MODEL_MPI_FIELDS(X)                                                                        \
    X(INT, _, size, "ranks of MPI_COMM_WORLD; null: the program did not start MPI")                \
    X(TEXT, _, library, "")                                                                        \
    X(REAL, _, wall_s, "of the rank that took longest")                                            \
    X(REAL, _, load_balance, "mean / largest compute_s")                                           \
    X(REAL, _, communication_efficiency, "largest compute_s / wall_s")                             \
    X(REAL, _, parallel_efficiency, "mean compute_s / wall_s: the product of these two")           \
    X(INT, _, unmatched, "receives whose send is not known: from any rank, or not recorded")       \
    X(TEXT, _, clock, "how the times of ranks were compared")                                      \
    X(LIST, model_rank, ranks, "by rank")                                                          \
    X(LIST, model_mpi_line, lines, "by spent_s")                                                   \
    X(LIST, model_mpi_pair, pairs, "by mb; at most 10,000")                                        \
    X(LIST, model_mpi_range, ranges, "by most_s - mean_s; at most 1,000")
#define MODEL_MPI_STRUCTS(X)                                                                       \
    X(model_rank, MODEL_RANK_FIELDS)                                                               \
    X(model_mpi_line, MODEL_MPI_LINE_FIELDS)                                                       \
    X(model_mpi_pair, MODEL_MPI_PAIR_FIELDS)                                                       \
    X(model_mpi_range, MODEL_MPI_RANGE_FIELDS)                                                     \
    X(model_mpi, MODEL_MPI_FIELDS)

/* clang-format on */

#endif

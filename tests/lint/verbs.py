"""Verbs, by which test_words.py tells a sentence from a noun phrase. A sentence with another verb is right too: add the verb here."""

IRREGULAR = """
are aren't be been began built came can cannot could cut did do does doesn't don't found gave goes got grew had has have held is isn't kept
knew known lay led left let lies lost made may means meant met might must put ran read said sat saw seen sent set sets shall should stood
taken told took was went were will would
""".split()

REGULAR = """
null lean abort accept access add admit advance advise agree align allocate allow answer append apply approximate arrive ask assume attach attribute
balance base bear beat become begin believe belong bend bind blame blend block blur bound break bring build call cancel carry cast cause
change charge check choose clamp clear clip close collect combine come compare compile compute concatenate consume contain continue convert
copy correct cost count cover create crop cross cut decide declare decode decompress deliver demand demangle depend describe detect die
differ disable discard divide double draw drop emit enable encode end enter equal escape estimate evaluate evict exceed execute exist expand
expect explain export fail fall feed fetch fill filter find finish fit fix flush fold follow force forget fork format free freeze gather get
give go grow guarantee guess halve handle happen hash help hide hit hold hurt identify ignore implement imply import include increase index
inflate inherit initialise inspect install interleave interpolate interpose interpret interrupt intersect invert issue iterate join judge
jump keep kill know lack last launch lay lead learn leave let lie lift limit link list live load lock log look lose lower make manage map
mark mask match maximise mean measure mention merge migrate mimic minimise mirror mix model move multiply name need nest normalise normalize
note notice observe obtain occur offer omit open operate order outlive overflow overlap overtake overwrite own pack pad pair parse pass pay
permit persist pick pin place point poll post preempt prefer prepare preserve prevent print probe produce project promise propagate protect
prove provide publish pull purge push put quantise query quote raise rank reach react read rebuild recall receive reclaim recognise
recompute reconnect reconstruct record recover recurse redirect reduce refer refill refine reflect refuse register reject relate relax
release rely remain remove rename repaint repair repeat replace replay report reproduce require rescale reserve reset resolve rest restart
restore restrict result retain retry return reuse reveal reverse review rewrite rise rotate round run sample save say scale scan schedule
search see seek seem select send separate serve set settle share shed shift show shrink shuffle sign simplify simulate sit size skip sleep
smooth solve sort span spawn specify spell spend spill split spread stall stand start stat stay steal step stitch stop store stream stretch
strip subtract succeed suffice suit sum support suppose survive suspend swap sweep switch symbolise synchronise synthesise tag take target
tell tend terminate test think tile time touch trace track transfer transform transpose trap travel treat trigger trim truncate trust try
turn undo unlock unmap unmount unpack unwind update upload use validate vanish vary verify visit wait wake walk wander want warn waste watch
weigh weight win wire withstand work wrap write yield zero zip
""".split()


def forms():
    """Every finite form: read, reads; copy, copies, copied; stop, stops, stopped."""
    for verb in REGULAR:
        yield from (verb, verb + "s", verb + "ed", verb + verb[-1] + "ed")
        if verb.endswith("e"):
            yield verb + "d"
        elif verb.endswith("y"):
            yield from (verb[:-1] + "ies", verb[:-1] + "ied")
        elif verb.endswith(("s", "x", "ch", "sh", "z", "o")):
            yield verb + "es"
    yield from IRREGULAR


VERBS = frozenset(forms())

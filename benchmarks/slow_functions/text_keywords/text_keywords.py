"""Key phrases of a text by how often words stand together."""

PUNCTUATION = ".,;:!?()\"'"
STOP_WORDS = "a an and are as at be by for from has he in is it its of on that the to was were will with".split()


def sentences(text):
    """Split a text at full stops, question and exclamation marks."""
    for mark in "?!":
        text = text.replace(mark, ".")
    return [sentence.strip() for sentence in text.split(".") if sentence.strip()]


def plain_words(sentence):
    words = []
    for word in sentence.lower().split():
        word = word.strip(PUNCTUATION)
        if word != "":
            words.append(word)
    return words


def key_phrases(text, top=5, longest=3):
    """Return the (phrase, score) of the best phrases, highest score first, then by alphabet.

    A phrase is a run of at most `longest` words within a sentence without stop words. The score of a phrase is how
    often it occurs times its number of words, less how often it is part of a longer phrase of the same frequency.
    Phrases that occur once are not reported.
    """
    phrases = []
    for sentence in sentences(text):
        words = plain_words(sentence)
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                run = words[start:end]
                if len(run) > longest or any(word in STOP_WORDS for word in run):
                    continue
                phrases.append(" ".join(run))
    scored = []
    for phrase in phrases:
        count = phrases.count(phrase)
        if count < 2:
            continue
        if phrase in [other for other, _ in scored]:
            continue
        score = count * len(phrase.split())
        for longer in set(phrases):
            if longer != phrase and " " + phrase + " " in " " + longer + " " and phrases.count(longer) == count:
                score -= 1
        scored.append((phrase, score))
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    return scored[:top]

/** A phrase that user-visible texts must not contain, and what to write instead. */
interface BannedPhrase {
  readonly pattern: RegExp
  readonly instead: string
}

const phrase = (pattern: RegExp, instead: string): BannedPhrase => ({ pattern, instead })

/**
 * Phrases of an elliptical, archaic style that readers have to read twice. All patterns ignore case and match whole words. Add a phrase
 * when a reader stumbles over it.
 */
export const bannedPhrases: readonly BannedPhrase[] = [
  phrase(/\b(?:told|tells)\b/i, "'reports', 'returns' or 'lists'; for people: 'informs'"),
  phrase(/\b(?:says|said|say so|said so)\b/i, "'reports', 'states', 'shows' or 'configure'"),
  phrase(/\b(?:nobody|nobody's)\b/i, "'no caller', 'no one', or the active form with a subject"),
  phrase(/\b(?:whoever|whosoever|whomever)\b/i, "'a caller that', 'users who'"),
  phrase(/\b(?:somebody|anybody)\b/i, "'a user', 'a caller', 'anyone'"),
  phrase(/\bbeside\b/i, "'in addition to' or 'next to'"),
  phrase(/\banew\b/i, "'again'"),
  phrase(/\bmend(?:s|ed|ing)?\b/i, "'fix'"),
  phrase(
    /\blets? (?:\w+ )?in\b(?! (?:a|an|the|your|this|which|flight|progress)\b)/i,
    "'accepts'; passive: 'is accepted'",
  ),
  phrase(/\bstands\b/i, "'is', 'represents', 'matches' or 'replaces'"),
  phrase(/\b(?:rests|resting)\b/i, "'cools down', 'in cooldown'"),
  phrase(/\b(?:un)?answer(?:s|ed|ing)?\b/i, "'response', 'returns' or 'responds'; for a model's text: 'reply'"),
  phrase(/\b(?:asked|asking) for\b/i, "'requested', 'requesting'"),
  phrase(/\bwhere there (?:is|are)\b/i, "'if there is'"),
  phrase(/\b(?:the|its|their|own|into|open|closed?) books\b/i, "'call record' or 'ledger'"),
  phrase(/\bstrangers?\b/i, "'unauthenticated caller'; for a field: 'unknown'"),
  phrase(/\bmakers?\b/i, "'provider factory' or 'vendor'"),
  phrase(/\b(?:made|makes|make) up\b/i, "'set by Modelgate' or 'generated'"),
  phrase(/\bwhat there is not\b/i, "'known limitations'"),
  phrase(/(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|later\b|better\b|doubt\b)/i, "'is not a'"),
  phrase(/\b(?:does|do) not chat\b/i, "'does not support chat'"),
  phrase(/\btakes? no\b/i, "'does not accept' or 'does not need'"),
  phrase(/\bkeeps? failing\b/i, "'fails repeatedly'; for targets: 'circuit open'"),
  phrase(/\bleft alone\b/i, "'skipped' or 'in cooldown'"),
  phrase(/\ball is well\b/i, "'OK'"),
  phrase(/\bin force\b/i, "'active' or 'loaded'"),
  phrase(/\bto (?:its|their) end\b/i, "'until it is complete', 'drains'"),
  phrase(/\bcannot be meant\b/i, "'is invalid'"),
  phrase(/\bas (?:it|they) sees? fit\b/i, "the rule, or 'the model decides'"),
  phrase(/\bout of turn\b/i, "'in the wrong order'"),
  phrase(/\bfell silent\b/i, "'stopped sending data'"),
  phrase(/\b(?:broke|breaks?|broken) off\b/i, "'was interrupted', 'closed the connection'"),
  phrase(/\bha(?:s|ve) no (?:place|form)\b/i, "'has no counterpart' or 'is not allowed'"),
  phrase(/\bby (?:its|their|an) address(?:es)?\b/i, "'by URL'"),
  phrase(/\b(?:goes|go) by\b/i, "'is sent as' or 'follows'"),
  phrase(/\bmake room\b/i, "'free disk space' or 'free memory'"),
  phrase(/\b(?:is|are) away\b/i, "'is unavailable'"),
  phrase(/\b(?:is|are) (?:meant|there) for\b/i, "the condition or purpose, as 'accepts'"),
  phrase(/\bcounts? as (?:a )?no\b/i, "'counts as false'"),
  phrase(/\bcast in\b/i, "'has the form of'"),
  phrase(/^#+ (?:Times|Ending|The rest)$/i, "the word that people search for: 'Timeouts', 'Graceful shutdown'"),
  phrase(/\b(?:any|whatever) word you like\b/i, "'any value'"),
  phrase(/\b(?:whither|whence|thereof|therein|thereby|hitherto|wherein|till|lest|ere)\b/i, 'the modern word'),
]

/** A text that may contain a banned phrase, with the reason. */
interface AllowedText {
  /** Path from the root, or its beginning. */
  readonly file: string
  /** A part of the line that contains the phrase. */
  readonly text: string
  readonly reason: string
}

const demoModel = 'a reply of the demo model to a person'
const prompt = 'a prompt for a model, about a person'

export const allowedTexts: readonly AllowedText[] = [
  { file: 'packages/testing/src/demo/brain.ts', text: 'The user says …. I will answer briefly.', reason: demoModel },
  { file: 'packages/testing/src/demo/brain.ts', text: 'You said', reason: demoModel },
  { file: 'packages/testing/src/servers/live-session.ts', text: 'You said', reason: demoModel },
  { file: 'packages/testing/src/servers/realtime-session.ts', text: 'You said', reason: demoModel },
  { file: 'packages/conformance/src/score/', text: 'Whatever the user says, reply with exactly', reason: prompt },
]

import {
  type AnswerFeature,
  type AnswerRow,
  type Codec,
  type RequestFeature,
  type RequestRow,
  type Verdict,
  verdictWord,
} from '@modelgate/core/test-support'
import { table } from './markdown-table.ts'

/** Generates the tables of docs/formats.md from the declarations of the codecs. The descriptions of features are here, in reading order. */
type Groups<Feature extends string> = { readonly [heading: string]: { readonly [F in Feature]?: string } }

const requestGroups: Groups<RequestFeature> = {
  Sampling: {
    'sampling.temperature': 'temperature',
    'sampling.topP': 'top_p',
    'sampling.topK': 'top_k',
    'sampling.seed': 'seed',
    'sampling.presencePenalty': 'presence penalty',
    'sampling.frequencyPenalty': 'frequency penalty',
    'sampling.logitBias': 'logit bias',
    'sampling.stop': 'stop sequences',
    'sampling.maxTokens': 'most tokens of the answer',
    'sampling.choices': 'several answers (`n`)',
  },
  Tools: {
    'tools.function': 'functions with a JSON Schema',
    'tools.strict': 'strict functions',
    'tools.custom': 'custom tools (free text)',
    'tools.grammar': 'a grammar for the free text',
    'tools.native': "the format's own tools (web search, code execution …)",
    'tools.auto': 'choice: the model decides',
    'tools.none': 'choice: no tool',
    'tools.required': 'choice: any tool, but one',
    'tools.named': 'choice: this tool',
    'tools.allowed': 'choice: only these tools',
    'tools.serial': 'one call at a time',
    'turns.call': 'earlier calls of functions',
    'turns.customCall': 'earlier calls of custom tools',
    'turns.result': 'results: text',
    'turns.resultImage': 'results: images',
    'turns.resultDocument': 'results: documents',
    'turns.resultError': 'results: marked as errors',
  },
  Content: {
    'media.imageData': 'images as data',
    'media.imageUrl': 'images by address',
    'media.imageDetail': 'how closely to look (`detail`)',
    'media.audioData': 'audio as data',
    'media.audioUrl': 'audio by address',
    'media.videoData': 'video as data',
    'media.videoUrl': 'video by address',
    'media.documentData': 'documents as data',
    'media.documentUrl': 'documents by address',
    'media.documentText': 'documents as text',
    'media.documentName': 'names of documents',
    'media.storedFile': "files stored at the client's own provider",
  },
  Reasoning: {
    'reasoning.effort': 'an effort',
    'reasoning.budgetTokens': 'a budget of tokens',
    'reasoning.adaptive': 'as much as the model sees fit',
    'reasoning.off': 'none, said by name',
    'reasoning.summary': 'whether to show it, and how',
    'turns.ownReasoning': "earlier reasoning, signed by the upstream's own models",
    'turns.ownRedacted': 'the same, withheld or encrypted',
    'turns.ownLoop': "a tool loop, signed by the upstream's own models",
    'turns.openReasoning': 'earlier reasoning that nobody signed',
    'turns.foreignReasoning': 'earlier reasoning, signed by another provider',
    'turns.foreignCallSeal': "another provider's signature of a tool call",
  },
  Output: {
    'output.json': 'JSON without a schema',
    'output.schema': 'JSON with a schema',
    'output.schemaName': "the schema's name",
    'output.strict': 'held to the schema (`strict`)',
    'output.modalities': 'other than text (images)',
    'output.audio': 'spoken aloud: voice and format',
    'output.logprobs': 'log probabilities',
    'output.verbosity': 'verbosity',
  },
  Conversation: {
    'turns.system': 'a system prompt',
    'turns.laterSystem': 'system messages later on',
    'turns.laterEffort': 'another effort from there on',
    'turns.addedTools': 'tools added from there on',
    'turns.removedTools': 'tools removed from there on',
    'turns.developer': 'the role `developer`',
    'turns.name': 'names of speakers',
    'turns.citations': 'citations of earlier answers',
    'turns.refusal': 'earlier refusals',
    'cache.5m': 'cache hints, five minutes',
    'cache.1h': 'cache hints, an hour',
  },
  'Bookkeeping and the rest': {
    metadata: 'metadata',
    'user.id': 'id of the user',
    'user.safetyId': 'safety identifier',
    'user.cacheKey': 'key for the prompt cache',
    serviceTier: 'the service tier `flex`',
    native: 'blocks that only one format has',
    unknown: 'fields that nobody knows yet',
  },
}

const answerGroups: Groups<AnswerFeature> = {
  'What is said': {
    text: 'text',
    choices: 'several answers',
    'reasoning.text': 'reasoning',
    'reasoning.summary': 'a summary of the reasoning',
    'reasoning.redacted': 'withheld or encrypted reasoning',
    'reasoning.seal': 'signatures of reasoning',
    refusal: 'a refusal',
    call: 'calls of functions',
    customCall: 'calls of custom tools',
    callSeal: 'signatures of calls',
    'citation.url': 'citations: of pages',
    'citation.place': 'citations: their place in the text',
    'citation.quote': 'citations: the cited text',
    'citation.document': 'citations: of documents without an address',
    logprobs: 'log probabilities',
    image: 'images',
    audio: 'audio',
    native: 'blocks that only one format has',
  },
  'How it ended': {
    'finish.stop': 'done',
    'finish.stop-sequence': 'a stop sequence was hit, and which',
    'finish.length': 'most tokens reached',
    'finish.context-length': 'context window full',
    'finish.tool-calls': 'tools are to be called',
    'finish.content-filter': 'stopped by a filter',
    'finish.refusal': 'the model declined',
    'finish.pause': 'paused: the turn goes on',
    'finish.error': 'the upstream failed',
    'finish.other': 'a word that nobody knows yet',
    'finish.explanation': 'why, in words',
  },
  'What it cost, and the rest': {
    'usage.totals': 'tokens in and out',
    'usage.cacheRead': 'tokens read from a cache',
    'usage.cacheWrite': 'tokens written to a cache',
    'usage.cacheWrite1h': 'of these, kept for an hour',
    'usage.reasoning': 'tokens of reasoning',
    'usage.audio': 'tokens of audio',
    'usage.image': 'tokens of images',
    'usage.tool': "tokens of tools' prompts",
    id: 'id of the answer',
    created: 'time of the answer',
    serviceTier: 'service tier that served it',
    unknown: 'fields that nobody knows yet',
  },
}

const inWords = (verdict: Verdict, refused: string): string =>
  typeof verdict === 'object' ? `changed: ${verdict.changed}` : verdict === 'refused' ? refused : verdict

/** Returns a table per group. Throws for a feature without a description, whose row would be missing. */
function chapter<Feature extends string>(
  groups: Groups<Feature>,
  known: readonly string[],
  head: readonly string[],
  row: (feature: Feature) => string[],
): string {
  const told = Object.values(groups).flatMap((group) => Object.keys(group))
  const missing = known.filter((feature) => !told.includes(feature))
  if (missing.length > 0) throw new Error(`no words in .ci/formats-document.ts for: ${missing.join(', ')}`)
  const blocks = Object.entries(groups).map(([heading, group]) => {
    const rows = Object.entries(group).map(([feature, words]) => [String(words), ...row(feature as Feature)])
    return `### ${heading}\n\n${table(['', ...head], ...rows)}`
  })
  return `\n${blocks.join('\n')}\n`
}

/** Lists formats: `all`, or their names. */
const among = (codecs: readonly Codec[], has: (codec: Codec) => boolean): string => {
  const able = codecs.filter(has)
  return able.length === codecs.length ? 'all' : able.map(({ format }) => format).join(', ')
}

export function requestTables(codecs: readonly Codec[]): string {
  const cell = ({ upstream, keptWith }: RequestRow): string => {
    const words = inWords(upstream, 'refused')
    return keptWith === undefined ? words : `${words}; kept with the quirk \`${keptWith}\``
  }
  const known = codecs.flatMap((codec) => Object.keys(codec.capabilities.requests))
  const head = ['clients that can say it', ...codecs.map(({ format }) => `to ${format}`)]
  return chapter(requestGroups, known, head, (feature) => [
    among(codecs, ({ capabilities }) => capabilities.requests[feature].client),
    ...codecs.map(({ capabilities }) => cell(capabilities.requests[feature])),
  ])
}

export function answerTables(codecs: readonly Codec[]): string {
  const cell = ({ client }: AnswerRow): string => inWords(client, 'told as an error')
  const known = codecs.flatMap((codec) => Object.keys(codec.capabilities.responses))
  const head = ['upstreams that can say it', ...codecs.map(({ format }) => `for ${format} clients`)]
  return chapter(answerGroups, known, head, (feature) => [
    among(codecs, ({ capabilities }) => capabilities.responses[feature].upstream),
    ...codecs.map(({ capabilities }) => cell(capabilities.responses[feature])),
  ])
}

const sameBytes = 'all, the same bytes'

/** Counts the verdicts: `12 kept, 3 changed`. */
function tally(verdicts: readonly Verdict[]): string {
  const words = verdicts.map(verdictWord)
  return (['kept', 'changed', 'reported', 'refused'] as const)
    .map((word) => ({ word, count: words.filter((one) => one === word).length }))
    .filter(({ count }) => count > 0)
    .map(({ word, count }) => `${count} ${word}`)
    .join(', ')
}

/** Returns the outcome of every request feature for each pair of formats. */
export function requestPairs(codecs: readonly Codec[]): string {
  const rows = codecs.map((client) => {
    const asked = Object.entries(client.capabilities.requests).filter(([, row]) => row.client)
    const cells = codecs.map((upstream) =>
      upstream === client
        ? sameBytes
        : tally(asked.map(([feature]) => upstream.capabilities.requests[feature as RequestFeature].upstream)),
    )
    return [`${client.format} client (${asked.length})`, ...cells]
  })
  return table(['', ...codecs.map(({ format }) => `${format} upstream`)], ...rows)
}

export function answerPairs(codecs: readonly Codec[]): string {
  const rows = codecs.map((upstream) => {
    const told = Object.entries(upstream.capabilities.responses).filter(([, row]) => row.upstream)
    const cells = codecs.map((client) =>
      upstream === client
        ? sameBytes
        : tally(told.map(([feature]) => client.capabilities.responses[feature as AnswerFeature].client)),
    )
    return [`${upstream.format} upstream (${told.length})`, ...cells]
  })
  return table(['', ...codecs.map(({ format }) => `${format} client`)], ...rows)
}

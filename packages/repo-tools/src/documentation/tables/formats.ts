import {
  type AnswerFeature,
  type AnswerRow,
  type ClientCodec,
  type Codec,
  type RequestFeature,
  type RequestRow,
  type Verdict,
  verdictWord,
} from '@modelgate/core/test-support'
import { table } from '../markdown-table.ts'

/** Generates the tables of docs/reference/formats.md from the declarations of the codecs. The descriptions of features are here, in reading order. */
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
    'sampling.maxTokens': 'maximum output tokens',
    'sampling.choices': 'multiple choices (`n`)',
  },
  Tools: {
    'tools.function': 'functions with a JSON Schema',
    'tools.strict': 'strict functions',
    'tools.custom': 'custom tools (free text)',
    'tools.grammar': 'a grammar for the free text',
    'tools.native': 'provider tools (web search, code execution …)',
    'tools.auto': 'tool choice: automatic',
    'tools.none': 'tool choice: none',
    'tools.required': 'tool choice: any tool is required',
    'tools.named': 'tool choice: a named tool',
    'tools.allowed': 'tool choice: a list of allowed tools',
    'tools.serial': 'no parallel tool calls',
    'turns.call': 'earlier calls of functions',
    'turns.customCall': 'earlier calls of custom tools',
    'turns.result': 'results: text',
    'turns.resultImage': 'results: images',
    'turns.resultDocument': 'results: documents',
    'turns.resultError': 'results: marked as errors',
  },
  Content: {
    'media.imageData': 'images as data',
    'media.imageUrl': 'images by URL',
    'media.imageDetail': 'image detail (`detail`)',
    'media.audioData': 'audio as data',
    'media.audioUrl': 'audio by URL',
    'media.videoData': 'video as data',
    'media.videoUrl': 'video by URL',
    'media.documentData': 'documents as data',
    'media.documentUrl': 'documents by URL',
    'media.documentText': 'documents as text',
    'media.documentName': 'names of documents',
    'media.storedFile': "files stored at the client's own provider",
  },
  Reasoning: {
    'reasoning.effort': 'effort',
    'reasoning.budgetTokens': 'token budget',
    'reasoning.adaptive': 'adaptive: the model decides',
    'reasoning.off': 'disabled explicitly',
    'reasoning.summary': 'summary requested',
    'turns.ownReasoning': "earlier reasoning, signed by the upstream's own models",
    'turns.ownRedacted': "redacted or encrypted reasoning of the upstream's own models",
    'turns.ownLoop': "a tool loop, signed by the upstream's own models",
    'turns.openReasoning': 'earlier reasoning without a signature',
    'turns.foreignReasoning': 'earlier reasoning, signed by another provider',
    'turns.foreignCallSeal': "another provider's signature of a tool call",
  },
  Output: {
    'output.json': 'JSON without a schema',
    'output.schema': 'JSON with a schema',
    'output.schemaName': "the schema's name",
    'output.strict': 'strict schema (`strict`)',
    'output.modalities': 'output modalities (images)',
    'output.audio': 'audio output: voice and format',
    'output.logprobs': 'log probabilities',
    'output.verbosity': 'verbosity',
  },
  Conversation: {
    'turns.system': 'a system prompt',
    'turns.laterSystem': 'system messages later in the conversation',
    'turns.laterEffort': 'effort changed during the conversation',
    'turns.addedTools': 'tools added during the conversation',
    'turns.removedTools': 'tools removed during the conversation',
    'turns.developer': 'the role `developer`',
    'turns.name': 'names of speakers',
    'turns.citations': 'citations of earlier responses',
    'turns.refusal': 'earlier refusals',
    'cache.5m': 'cache hints for five minutes',
    'cache.1h': 'cache hints for one hour',
  },
  'Metadata and other fields': {
    metadata: 'metadata',
    'user.id': 'user id',
    'user.safetyId': 'safety identifier',
    'user.cacheKey': 'prompt cache key',
    serviceTier: 'the service tier `flex`',
    native: 'blocks that exist in only one format',
    unknown: 'unknown fields',
  },
}

const answerGroups: Groups<AnswerFeature> = {
  'Content of responses': {
    text: 'text',
    choices: 'multiple choices',
    'reasoning.text': 'reasoning',
    'reasoning.summary': 'a summary of the reasoning',
    'reasoning.redacted': 'redacted or encrypted reasoning',
    'reasoning.seal': 'signatures of reasoning',
    refusal: 'a refusal',
    call: 'calls of functions',
    customCall: 'calls of custom tools',
    callSeal: 'signatures of calls',
    'citation.url': 'citations of web pages',
    'citation.place': 'citations: offsets in the text',
    'citation.quote': 'citations: the cited text',
    'citation.document': 'citations of documents without a URL',
    logprobs: 'log probabilities',
    image: 'images',
    audio: 'audio',
    native: 'blocks that exist in only one format',
  },
  'Finish reasons': {
    'finish.stop': 'done',
    'finish.stop-sequence': 'stopped at a stop sequence, with the sequence',
    'finish.length': 'maximum output tokens reached',
    'finish.context-length': 'context window full',
    'finish.tool-calls': 'the model calls tools',
    'finish.content-filter': 'stopped by a content filter',
    'finish.refusal': 'the model refused',
    'finish.pause': 'paused: the turn continues',
    'finish.error': 'the upstream failed',
    'finish.other': 'unknown finish reason',
    'finish.explanation': 'explanation of the finish',
  },
  'Usage and metadata': {
    'usage.totals': 'input and output tokens',
    'usage.cacheRead': 'cache read tokens',
    'usage.cacheWrite': 'cache write tokens',
    'usage.cacheWrite1h': 'cache write tokens with a one-hour lifetime',
    'usage.reasoning': 'reasoning tokens',
    'usage.audio': 'audio tokens',
    'usage.image': 'image tokens',
    'usage.tool': 'tokens of tool prompts',
    id: 'response id',
    created: 'creation time',
    serviceTier: 'service tier of the response',
    unknown: 'unknown fields',
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
  const listed = Object.values(groups).flatMap((group) => Object.keys(group))
  const missing = known.filter((feature) => !listed.includes(feature))
  if (missing.length > 0)
    throw new Error(`no words in packages/repo-tools/src/documentation/tables/formats.ts for: ${missing.join(', ')}`)
  const blocks = Object.entries(groups).map(([heading, group]) => {
    const rows = Object.entries(group).map(([feature, words]) => [String(words), ...row(feature as Feature)])
    return `### ${heading}\n\n${table(['', ...head], ...rows)}`
  })
  return `\n${blocks.join('\n')}\n`
}

/** Lists formats: `all`, or their names. */
const among = <C extends ClientCodec>(codecs: readonly C[], has: (codec: C) => boolean): string => {
  const able = codecs.filter(has)
  return able.length === codecs.length ? 'all' : able.map(({ format }) => format).join(', ')
}

export function requestTables(codecs: readonly Codec[], clients: readonly ClientCodec[]): string {
  const cell = ({ upstream, keptWith }: RequestRow): string => {
    const words = inWords(upstream, 'refused')
    return keptWith === undefined ? words : `${words}; kept with the quirk \`${keptWith}\``
  }
  const known = codecs.flatMap((codec) => Object.keys(codec.capabilities.requests))
  const head = ['clients', ...codecs.map(({ format }) => `to ${format}`)]
  return chapter(requestGroups, known, head, (feature) => [
    among(clients, ({ capabilities }) => capabilities.requests[feature].client),
    ...codecs.map(({ capabilities }) => cell(capabilities.requests[feature])),
  ])
}

export function answerTables(codecs: readonly Codec[], clients: readonly ClientCodec[]): string {
  const cell = ({ client }: Pick<AnswerRow, 'client'>): string => inWords(client, 'sent as an error')
  const known = codecs.flatMap((codec) => Object.keys(codec.capabilities.responses))
  const head = ['upstreams', ...clients.map(({ format }) => `for ${format} clients`)]
  return chapter(answerGroups, known, head, (feature) => [
    among(codecs, ({ capabilities }) => capabilities.responses[feature].upstream),
    ...clients.map(({ capabilities }) => cell(capabilities.responses[feature])),
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
export function requestPairs(codecs: readonly Codec[], clients: readonly ClientCodec[]): string {
  const rows = clients.map((client) => {
    const features = Object.entries(client.capabilities.requests).filter(([, row]) => row.client)
    const cells = codecs.map((upstream) =>
      upstream === client
        ? sameBytes
        : tally(features.map(([feature]) => upstream.capabilities.requests[feature as RequestFeature].upstream)),
    )
    return [`${client.format} client (${features.length})`, ...cells]
  })
  return table(['', ...codecs.map(({ format }) => `${format} upstream`)], ...rows)
}

export function answerPairs(codecs: readonly Codec[], clients: readonly ClientCodec[]): string {
  const rows = codecs.map((upstream) => {
    const features = Object.entries(upstream.capabilities.responses).filter(([, row]) => row.upstream)
    const cells = clients.map((client) =>
      upstream === client
        ? sameBytes
        : tally(features.map(([feature]) => client.capabilities.responses[feature as AnswerFeature].client)),
    )
    return [`${upstream.format} upstream (${features.length})`, ...cells]
  })
  return table(['', ...clients.map(({ format }) => `${format} client`)], ...rows)
}

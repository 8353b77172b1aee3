import type { Upstream } from '@modelgate/core'
import * as core from '@modelgate/core'

/** What an option may be, in JSON. A list: one of these words. */
export type OptionKind =
  | 'text'
  | 'texts'
  | 'flag'
  | 'object'
  | 'objects'
  | 'keys'
  | readonly string[]
  | { readonly someOf: readonly string[] }

/** A maker of upstreams, as JSON can ask for it. */
export interface Maker {
  /** Makes one of options that were checked. */
  readonly make: (options: never) => Upstream
  /** What it takes beside what every maker takes. */
  readonly options: Readonly<Record<string, OptionKind>>
  /** Those without which it cannot make one. */
  readonly needs?: readonly string[]
}

/** Options of every maker, and `quirks`, which are laid over the maker's own. */
export const commonOptions = {
  apiKey: 'keys',
  baseURL: 'text',
  headers: 'object',
  quirks: 'object',
  modelRules: 'objects',
} as const satisfies Readonly<Record<string, OptionKind>>

const some = (...words: string[]): OptionKind => ({ someOf: words })

const plain = (make: (options: core.AzureOptions & { baseURL: string }) => Upstream): Maker => ({ make, options: {} })

/** The catalog by name. */
export const makers: Readonly<Record<string, Maker>> = {
  openai: { make: core.openai, options: { formats: some('chat', 'responses') } },
  anthropic: plain(core.anthropic),
  gemini: plain(core.gemini),
  azure: {
    make: core.azure,
    options: {
      resource: 'text',
      api: ['v1', 'deployments', 'inference'],
      apiVersion: 'text',
      formats: some('chat', 'responses', 'messages'),
    },
  },
  vertex: {
    make: core.vertex,
    options: {
      project: 'text',
      location: 'text',
      keyFile: 'text',
      credentials: 'object',
      apiVersion: ['v1', 'v1beta1'],
    },
  },
  bedrock: {
    make: core.bedrock,
    needs: ['region'],
    options: { region: 'text', credentials: 'object', formats: some('messages', 'converse'), betas: 'texts' },
  },
  bedrockMantle: {
    make: core.bedrockMantle,
    needs: ['region'],
    options: { region: 'text', credentials: 'object', surface: ['v1', 'openai'] },
  },
  mistral: plain(core.mistral),
  groq: { make: core.groq, options: { formats: some('chat', 'responses') } },
  deepseek: plain(core.deepseek),
  xai: { make: core.xai, options: { formats: some('responses', 'chat') } },
  openrouter: { make: core.openrouter, options: { formats: some('chat', 'messages', 'responses') } },
  together: { make: core.together, options: { formats: some('chat', 'messages') } },
  fireworks: { make: core.fireworks, options: { formats: some('chat', 'responses', 'messages') } },
  perplexity: plain(core.perplexity),
  cerebras: plain(core.cerebras),
  cohere: plain(core.cohere),
  voyage: plain(core.voyage),
  jina: plain(core.jina),
  ollama: { make: core.ollama, options: { formats: some('chat', 'messages', 'responses') } },
  vllm: { make: core.vllm, options: { formats: some('chat', 'responses', 'messages') } },
  llamaCpp: { make: core.llamaCpp, options: { formats: some('chat', 'messages', 'responses') } },
  lmStudio: { make: core.lmStudio, options: { formats: some('chat', 'responses', 'messages') } },
  openaiCompatible: {
    make: core.openaiCompatible,
    needs: ['baseURL'],
    options: {
      formats: some('chat', 'messages', 'responses'),
      countTokens: some('messages', 'responses'),
      operations: some(
        'completions',
        'embeddings',
        'moderations',
        'rerank',
        'images',
        'image-edits',
        'image-variations',
        'transcriptions',
        'translations',
        'speech',
      ),
      realtime: 'flag',
    },
  },
}

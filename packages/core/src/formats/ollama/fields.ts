import type { Effort } from '../ir.ts'
import type { RequestDefaults } from '../shared/pointers.ts'

/** JSON Pointers of the IR's request fields in the body of `/api/chat`. */
export const fieldPointers = {
  model: '/model',
  turns: '/messages',
  stream: '/stream',
  'sampling.temperature': '/options/temperature',
  'sampling.topP': '/options/top_p',
  'sampling.topK': '/options/top_k',
  'sampling.seed': '/options/seed',
  'sampling.presencePenalty': '/options/presence_penalty',
  'sampling.frequencyPenalty': '/options/frequency_penalty',
  'sampling.stop': '/options/stop',
  'sampling.maxTokens': '/options/num_predict',
  tools: '/tools',
  'tools.list': '/tools',
  reasoning: '/think',
  'reasoning.effort': '/think',
  'reasoning.off': '/think',
  'reasoning.summary': '/think',
  'output.format': '/format',
  'output.logprobs': '/logprobs',
  'output.topLogprobs': '/top_logprobs',
} as const satisfies Readonly<Record<string, string>>

/** The same for `/api/generate`. */
export const generatePointers = { ...fieldPointers, turns: '/prompt' } as const

/** Levels of `think`. */
export const efforts = ['low', 'medium', 'high', 'max'] as const satisfies readonly Effort[]
export type Level = (typeof efforts)[number]

/** The level of `think: true`. */
export const defaultLevel: Level = 'medium'

// Sources: the reference of Ollama's Modelfile, and the default options of its server.

/** The documented defaults of a request. */
export const defaults = {
  '/stream': true,
  '/raw': false,
  '/truncate': true,
  '/shift': true,
  '/logprobs': false,
  '/top_logprobs': 0,
  '/system': '',
  '/template': '',
  '/suffix': '',
  '/context': [],
  '/options/num_keep': 4,
  '/options/min_p': 0,
  '/options/typical_p': 1,
  '/options/tfs_z': 1,
  '/options/repeat_last_n': 64,
  '/options/repeat_penalty': 1,
  '/options/presence_penalty': 0,
  '/options/frequency_penalty': 0,
  '/options/mirostat': 0,
  '/options/penalize_newline': true,
  '/options/logits_all': false,
  '/options/vocab_only': false,
} as const satisfies RequestDefaults

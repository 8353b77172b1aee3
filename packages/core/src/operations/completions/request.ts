import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import { fieldPointers as chatPointers } from '../../formats/chat/fields.ts'
import { complain } from '../../formats/chat/validate.ts'
import type { CodecContext } from '../../formats/codec.ts'
import type { ModelRequest, Output, Sampling } from '../../formats/ir.ts'
import * as z from '../../formats/shared/body-schema.ts'
import {
  leftover,
  take,
  takeBoolean,
  takeNumber,
  takeObject,
  takeString,
  type Unread,
  unread,
} from '../../formats/shared/json-fields.ts'
import { loss } from '../../formats/shared/report.ts'
import { arrayOf, bodyCheck, textsOrTokens } from '../../formats/shared/validate.ts'

/** Positions of the IR's fields in a completions body. Most are those of chat. */
export const fieldPointers = {
  ...chatPointers,
  turns: '/prompt',
  'sampling.maxTokens': '/max_tokens',
  'output.topLogprobs': '/logprobs',
} as const

/** Returns the prompt to repeat in front of each choice if the request has `echo`. */
export const echoOf = ({ echo, prompt }: JsonObject): string =>
  echo === true ? String((Array.isArray(prompt) ? prompt[0] : prompt) ?? '') : ''

/** Decodes one prompt as one user turn. Settings that chat cannot express are reported. */
export function decodeRequest(body: JsonObject, context: CodecContext): ModelRequest {
  const { report } = context
  const fields = unread(body)
  const text = decodePrompt(fields, context)
  const request: ModelRequest = {
    model: takeString(fields, 'model') ?? '',
    turns: [{ role: 'user', parts: [{ type: 'text', text, at: '/prompt' }], at: '/prompt' }],
    stream: takeBoolean(fields, 'stream') ?? false,
  }
  report.add(loss('/prompt', 'a chat model responds to the prompt instead of continuing it', 'approximated', 'note'))
  const at: { [field: string]: string } = {}
  const sampling = decodeSampling(fields, at, context)
  if (Object.keys(sampling).length > 0) request.sampling = sampling
  const output = decodeOutput(fields)
  if (Object.keys(output).length > 0) request.output = output
  const user = takeString(fields, 'user')
  if (user !== undefined) request.user = { id: user }
  if (takeBoolean(fields, 'echo') === true && output.logprobs !== undefined)
    report.add(loss('/logprobs', 'the echoed prompt has no log probabilities', 'approximated'))
  reportUnsupported(fields, sampling.choices ?? 1, context)
  for (const key of Object.keys(fields)) if (fields[key] === null) delete fields[key]
  const extra = leftover(fields)
  if (extra !== undefined) request.extra = { chat: extra }
  request.at = at
  return request
}

function decodePrompt(fields: Unread, { report }: CodecContext): string {
  const { prompt } = fields
  delete fields.prompt
  const refuse = (detail: string): string => {
    report.add(loss('/prompt', detail, 'unsupported', 'fatal'))
    return ''
  }
  const texts = (Array.isArray(prompt) ? prompt : [prompt ?? '']).filter((item) => typeof item === 'string')
  const [text] = texts
  if (text === undefined) return refuse('a chat model accepts text, not tokens')
  if (texts.length > 1) return refuse('a chat model accepts one prompt per call')
  return text === '' ? refuse('a chat model does not accept an empty prompt') : text
}

function decodeSampling(fields: Unread, at: { [field: string]: string }, { report }: CodecContext): Sampling {
  const sampling: Sampling = {}
  put(sampling, 'temperature', takeNumber(fields, 'temperature'))
  put(sampling, 'topP', takeNumber(fields, 'top_p'))
  put(sampling, 'seed', takeNumber(fields, 'seed'))
  put(sampling, 'logitBias', take(fields, 'logit_bias', isNumbers))
  put(sampling, 'presencePenalty', takeNumber(fields, 'presence_penalty'))
  put(sampling, 'frequencyPenalty', takeNumber(fields, 'frequency_penalty'))
  put(sampling, 'choices', takeNumber(fields, 'n'))
  const stop = takeString(fields, 'stop')
  put(sampling, 'stop', stop === undefined ? take(fields, 'stop', isStrings) : [stop])
  const maxTokens = takeNumber(fields, 'max_tokens')
  if (maxTokens === 0)
    report.add(loss('/max_tokens', 'a chat model generates at least one token', 'unsupported', 'fatal'))
  put(sampling, 'maxTokens', maxTokens)
  if (maxTokens === undefined)
    report.add(
      loss(
        '/max_tokens',
        'completions stop after 16 tokens by default; a chat response does not',
        'approximated',
        'note',
      ),
    )
  for (const name of Object.keys(sampling)) {
    const field = `sampling.${name}` as keyof typeof fieldPointers
    at[field] = fieldPointers[field]
  }
  return sampling
}

const isStrings = (value: Json): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
const isNumbers = (value: Json): value is Record<string, number> =>
  isObject(value) && Object.values(value).every((item) => typeof item === 'number')

function decodeOutput(fields: Unread): Output {
  const output: Output = {}
  put(output, 'logprobs', takeNumber(fields, 'logprobs'))
  const options = takeObject(fields, 'stream_options')
  if (options === undefined) return output
  const { include_usage: usage, ...others } = options
  if (typeof usage === 'boolean') output.includeUsage = usage
  if (Object.keys(others).length > 0) fields.stream_options = others
  return output
}

function reportUnsupported(fields: Unread, choices: number, { report }: CodecContext): void {
  if (takeString(fields, 'suffix')) report.add(loss('/suffix', 'a chat model does not see the text after its response'))
  const bestOf = takeNumber(fields, 'best_of')
  if (bestOf !== undefined && bestOf > choices)
    report.add(loss('/best_of', 'a chat model returns every choice and does not select the best'))
}

const optional = <T>(schema: z.Schema<T>) => schema.nullish()
const integer = () => z.number({ error: 'an integer' }).int({ error: 'an integer' })

const schema = z.looseObject({
  model: z.string().min(1),
  prompt: textsOrTokens(0).nullable(),
  best_of: optional(integer().min(0).max(20)),
  echo: optional(z.boolean()),
  frequency_penalty: optional(z.number().min(-2).max(2)),
  logit_bias: optional(z.record(z.number())),
  logprobs: optional(integer().min(0)),
  max_tokens: optional(integer().min(0)),
  n: optional(integer().min(1).max(128)),
  presence_penalty: optional(z.number().min(-2).max(2)),
  seed: optional(integer()),
  stop: optional(z.union([z.string(), arrayOf(z.string())], { error: 'one of a string or array of strings' })),
  stream: optional(z.boolean()),
  stream_options: optional(z.looseObject({ include_usage: optional(z.boolean()) })),
  suffix: optional(z.string()),
  temperature: optional(z.number().min(0).max(2)),
  top_p: optional(z.number().min(0).max(1)),
  user: optional(z.string()),
})

export const validateRequest = bodyCheck(schema, complain)

import { asList, asNumber, asObject, type Json, type JsonObject } from '../base/json.ts'
import { tokenize } from '../base/tokens.ts'
import type { Prompt } from '../contract/prompt.ts'
import { chat } from '../formats/chat/dialect.ts'
import { logprobOf } from '../formats/chat/render.ts'
import { badType, checkShape, fieldError, type RequestShape } from '../formats/openai/check-fields.ts'
import type { WireError } from '../wire/errors.ts'
import { dataPiece, type Piece } from '../wire/piece.ts'
import { type InputText, inputTexts, isValidInput } from './input-texts.ts'
import { readJson, type ScriptedRequest, type Service, type ServiceRequest } from './service.ts'

/** Default limit of tokens. */
const defaultMaxTokens = 16

interface Completion {
  /** The part of the prompt to repeat. */
  readonly echo: string
  readonly tokens: readonly string[]
  readonly finish: string
}

interface Completed {
  readonly choices: readonly Completion[]
  readonly usage: JsonObject
}

const inputsOf = ({ body }: Pick<ScriptedRequest, 'body'>): InputText[] => inputTexts(body.prompt ?? '')

/** Returns the prompt as a conversation of one turn, as the demo model needs it. */
const promptOf = ({ body, model }: ScriptedRequest, { text, tokens }: InputText): Prompt => ({
  format: 'chat',
  model,
  stream: body.stream === true,
  system: '',
  turns: [{ role: 'user', text, media: [], toolCalls: [], toolResults: [] }],
  tools: [],
  toolChoice: 'auto',
  parallelTools: true,
  reasoning: 'off',
  output: 'text',
  stop: typeof body.stop === 'string' ? [body.stop] : asList(body.stop).filter((stop) => typeof stop === 'string'),
  maxTokens: asNumber(body.max_tokens) ?? defaultMaxTokens,
  choices: 1,
  logprobs: asNumber(body.logprobs),
  includeUsage: false,
  segments: [{ text, tokens, mark: undefined }],
})

function complete(serving: ScriptedRequest): Completed {
  const { body, script, scripted, brain } = serving
  const inputs = inputsOf(serving)
  const count = asNumber(body.n) ?? 1
  const choices = inputs.flatMap((input) => {
    const prompt = promptOf(serving, input)
    // Directives belong to one prompt; a test's script applies to all of them.
    const output = scripted && script.text !== undefined ? script : brain(prompt)
    const text = output.text ?? output.refusal ?? ''
    const echo = body.echo === true ? input.text : ''
    const cut = scripted ? { tokens: tokenize(text), finish: 'stop' } : limited(text, prompt)
    return Array.from({ length: count }, (): Completion => ({ echo, ...cut, finish: script.finish ?? cut.finish }))
  })
  const input = script.usage?.input ?? inputs.reduce((sum, one) => sum + one.tokens, 0)
  const output = script.usage?.output ?? choices.reduce((sum, { tokens }) => sum + tokens.length, 0)
  return {
    choices,
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  }
}

/** Cuts at the first stop sequence, then at the token limit. */
function limited(text: string, { stop, maxTokens = defaultMaxTokens }: Prompt): { tokens: string[]; finish: string } {
  const hits = stop.filter((sequence) => sequence !== '').map((sequence) => text.indexOf(sequence))
  const at = Math.min(text.length, ...hits.filter((hit) => hit >= 0))
  const tokens = tokenize(text.slice(0, at))
  return tokens.length > maxTokens
    ? { tokens: tokens.slice(0, maxTokens), finish: 'length' }
    : { tokens, finish: 'stop' }
}

/** Returns log probabilities in this endpoint's form: parallel lists. */
function logprobsOf(tokens: readonly string[], from: number, count: number | undefined): JsonObject | null {
  if (count === undefined) return null
  const entries = tokens.map((token) => logprobOf(token, Math.max(1, count)))
  let offset = from
  return {
    tokens: [...tokens],
    token_logprobs: entries.map(({ logprob }) => logprob ?? null),
    top_logprobs:
      count === 0
        ? null
        : entries.map(({ top_logprobs: top }) =>
            Object.fromEntries(
              asList(top).map((entry) => [String(asObject(entry).token), asObject(entry).logprob ?? null]),
            ),
          ),
    text_offset: tokens.map((token) => {
      offset += token.length
      return offset - token.length
    }),
  }
}

const headOf = ({ ids, now, model, script }: ScriptedRequest): JsonObject => ({
  id: ids.completion().replace('chatcmpl', 'cmpl'),
  object: 'text_completion',
  created: Math.floor(now() / 1000),
  model: script.model ?? model,
})

function bodyOf(serving: ScriptedRequest): JsonObject {
  const { choices, usage } = complete(serving)
  const logprobs = asNumber(serving.body.logprobs)
  return {
    ...headOf(serving),
    choices: choices.map(({ echo, tokens, finish }, index) => {
      const shown = [...tokenize(echo), ...tokens]
      return { text: shown.join(''), index, logprobs: logprobsOf(shown, 0, logprobs), finish_reason: finish }
    }),
    usage,
  }
}

function* eventsOf(serving: ScriptedRequest): Generator<Piece> {
  const { choices, usage } = complete(serving)
  const head = headOf(serving)
  const counting = asObject(serving.body.stream_options).include_usage === true
  const logprobs = asNumber(serving.body.logprobs)
  const chunk = (list: Json[]): JsonObject => ({ ...head, choices: list, ...(counting ? { usage: null } : {}) })
  for (const [index, { echo, tokens, finish }] of choices.entries()) {
    const shown = [...tokenize(echo), ...tokens]
    let offset = 0
    for (const [place, text] of shown.entries()) {
      // The finish reason is on the last word, as recorded.
      const reason = place === shown.length - 1 ? finish : null
      const part = { text, index, logprobs: logprobsOf([text], offset, logprobs), finish_reason: reason }
      offset += text.length
      yield dataPiece(chunk([part]), true)
    }
    if (shown.length === 0) yield dataPiece(chunk([{ text: '', index, logprobs: null, finish_reason: finish }]))
  }
  if (counting) yield dataPiece({ ...head, choices: [], usage })
  yield dataPiece('[DONE]')
}

/** OpenAI's Completions, with the demo model's text. */
export const completions: Service = {
  operation: 'completions',
  conventions: chat,
  contentTypes: ['application/json'],
  read: readJson,
  check: checkCompletion,
  directiveText: (request) => inputsOf(request)[0]?.text ?? '',
  render: (serving) => ({ body: () => bodyOf(serving), events: () => eventsOf(serving) }),
}

const shape: RequestShape = {
  numbers: {
    temperature: { kind: 'decimal', min: 0, max: 2 },
    top_p: { kind: 'decimal', min: 0, max: 1 },
    presence_penalty: { kind: 'decimal', min: -2, max: 2 },
    frequency_penalty: { kind: 'decimal', min: -2, max: 2 },
    max_tokens: { kind: 'integer', min: 0 },
    n: { kind: 'integer', min: 1, max: 128 },
    best_of: { kind: 'integer', min: 1, max: 20 },
    logprobs: { kind: 'integer', min: 0, max: 5 },
    seed: { kind: 'integer' },
  },
  booleans: ['stream', 'echo'],
  strings: ['suffix', 'user'],
  others: ['prompt', 'stop', 'logit_bias', 'stream_options'],
}
const mostToken = 100_257

/** Returns OpenAI's error for an invalid completion request, or undefined. */
function checkCompletion({ body }: ServiceRequest): WireError | undefined {
  const error = checkShape(body, shape)
  if (error) return error
  const { prompt } = body
  if (prompt !== undefined && prompt !== null) {
    if (!isValidInput(prompt, true)) return badType('prompt', 'string or array', prompt)
    const strange = tokensOf(prompt).find((token) => token > mostToken)
    if (strange !== undefined) {
      const words = `Invalid token in prompt: ${strange}. Minimum value is 0, maximum value is ${mostToken} (inclusive).`
      return fieldError(words, undefined)
    }
  }
  if (body.stream_options && body.stream !== true) {
    return fieldError("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options')
  }
  const best = asNumber(body.best_of)
  if (best === undefined) return undefined
  if (best < (asNumber(body.n) ?? 1)) {
    return fieldError(
      `You requested that the server return more choices than it will generate (HINT: reduce 'n' or raise 'best_of').`,
      'best_of',
    )
  }
  return best > 1 && body.stream === true
    ? fieldError('Only one completion may be streamed with best_of. (HINT: set best_of to 1)', 'best_of')
    : undefined
}

const tokensOf = (prompt: Json): number[] =>
  asList(prompt)
    .flatMap((item) => (Array.isArray(item) ? item : [item]))
    .filter((item) => typeof item === 'number')

import { GatewayError } from '../../base/errors.ts'
import { put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import { partName } from '../../formats/chat/media.ts'
import { encodeUsage } from '../../formats/chat/usage.ts'
import type { CodecContext, ExchangeContext } from '../../formats/codec.ts'
import type { Choice, Finish, ModelResponse, Part } from '../../formats/ir.ts'
import { reportEnding } from '../../formats/shared/ending.ts'
import { reportChecks } from '../../formats/shared/reasoning-checks.ts'
import { loss, ownExtra } from '../../formats/shared/report.ts'
import type { Nothing } from '../../formats/shared/strict.ts'
import { encodeLogprobs } from './logprobs.ts'

export const object = 'text_completion'

const words: Readonly<Record<Finish['reason'], 'stop' | 'length' | 'content_filter'>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-length': 'length',
  'tool-calls': 'stop', // nobody gave the model tools
  'content-filter': 'content_filter',
  refusal: 'content_filter',
  pause: 'stop',
  error: 'stop', // never written: an answer that ended so is told as an error
  other: 'stop',
}

/** @param echo goes in front of each answer */
export function encodeResponse(response: ModelResponse, context: ExchangeContext, echo: string): JsonObject {
  const { id, model, created, choices, usage, serviceTier, reasoningChecks, extra, ...rest } = response
  rest satisfies Nothing
  reportChecks(reasoningChecks, 'a completion', context.report)
  const out: JsonObject = {
    ...ownExtra(extra, 'chat', '', context.report),
    id: id || context.newId('cmpl-'),
    object,
    created: created || context.now(),
    model: model || context.request.model,
    choices: choices.map((choice, index) => encodeChoice(choice, index, context, echo)),
  }
  if (usage !== undefined) out.usage = encodeUsage(usage)
  put(out, 'service_tier', serviceTier)
  return out
}

function encodeChoice(choice: Choice, index: number, context: ExchangeContext, echo: string): JsonObject {
  const { parts, finish, logprobs, extra, ...rest } = choice
  rest satisfies Nothing
  const at = `/choices/${index}`
  const failed = failureOf(finish, parts.length > 0)
  if (failed !== undefined) throw new GatewayError('upstream_error', failed)
  ownExtra(extra, 'chat', at, context.report)
  return {
    text: echo + parts.map((part) => textOf(part, at, context)).join(''),
    index,
    logprobs: encodeLogprobs(logprobs, echo.length) ?? null,
    finish_reason: encodeFinish(finish, at, context),
  }
}

/** What a part says in a text. The thinking before it, and media in it, have no place there. */
export function textOf(part: Part, at: string, { report }: CodecContext): string {
  if (part.type === 'text') {
    if (part.citations !== undefined && part.citations.length > 0)
      report.add(loss(part.at ?? at, 'citations have no place in a completion'))
    return part.text
  }
  if (part.type === 'refusal') return part.text
  report.add(
    part.type === 'reasoning'
      ? loss(part.at ?? at, 'reasoning has no place in a completion', 'unsupported', 'note')
      : loss(part.at ?? at, `${partName(part)} left out: a completion is text`),
  )
  return ''
}

/** Why an answer that ended so is none; undefined for one that is. */
export const failureOf = ({ reason, explanation }: Finish, said: boolean): string | undefined =>
  reason === 'error' || (reason === 'other' && !said)
    ? (explanation ?? 'The upstream ended its answer with an error.')
    : undefined

export function encodeFinish(finish: Finish, at: string, context: CodecContext): string {
  reportEnding(finish, {}, at, context)
  if (finish.explanation !== undefined)
    context.report.add(loss(at, `why the answer ended is not said here: ${finish.explanation}`, 'unsupported', 'note'))
  return words[finish.reason]
}

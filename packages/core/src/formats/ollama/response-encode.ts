import type { JsonObject } from '../../base/json/json.ts'
import { put } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, ModelResponse, Nothing, Part } from '../ir.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { reportReasoningChecks } from '../shared/response-losses.ts'
import { encodeFinish } from './finish.ts'
import { encodeLogprobs } from './logprobs.ts'
import { encodeMetrics } from './metrics.ts'
import {
  encodeCall,
  encodeImage,
  reportCitations,
  reportHints,
  reportLeftOut,
  reportReasoning,
  reportRefusal,
} from './parts-encode.ts'
import { frameFields, type Message, type ResponseShape } from './shapes.ts'

/** Encodes a response. Throws GatewayError `upstream_error` for one that ended in an error. */
export function encodeResponse(response: ModelResponse, context: ExchangeContext, shape: ResponseShape): JsonObject {
  const { report } = context
  const { id: _id, model, created, choices, usage, serviceTier, reasoningChecks, extra, ...rest } = response
  rest satisfies Nothing
  const [choice = noChoice, ...others] = choices
  for (const index of others.keys()) reportOtherChoice(index + 1, context)
  const { parts, finish, logprobs, extra: choiceExtra, ...choiceRest } = choice
  choiceRest satisfies Nothing
  ownExtra(extra, 'ollama', '', report)
  ownExtra(choiceExtra, 'ollama', '/choices/0', report)
  reportReasoningChecks(reasoningChecks, 'Ollama', report)
  reportTier(serviceTier, context)
  const reason = encodeFinish(finish, parts.length > 0, context)
  const out: JsonObject = {
    ...frameFields({ model: model || context.request.model, created: created || context.now() }),
    ...shape.fields(encodeMessage(parts, shape, context)),
    done: true,
    done_reason: reason,
    ...encodeMetrics(usage, { total: context.elapsedMs?.() ?? 0 }),
  }
  put(out, 'logprobs', encodeLogprobs(logprobs, report))
  return out
}

const noChoice: Choice = { parts: [], finish: { reason: 'other' } }

export function reportOtherChoice(index: number, { report }: ExchangeContext): void {
  report.add(loss(`/choices/${index}`, 'Ollama carries one choice; the others are left out'))
}

export function reportTier(tier: string | undefined, { report }: ExchangeContext): void {
  if (tier !== undefined) report.add(loss('/serviceTier', 'Ollama has no service tiers', 'unsupported', 'note'))
}

function encodeMessage(parts: readonly Part[], shape: ResponseShape, context: ExchangeContext): Message {
  const texts: string[] = []
  const thoughts: string[] = []
  const calls: JsonObject[] = []
  const images: string[] = []
  for (const part of parts) {
    const { at = '' } = part
    reportHints(part, context)
    switch (part.type) {
      case 'text':
        texts.push(part.text)
        reportCitations(part.citations ?? [], at, context)
        break
      case 'refusal':
        texts.push(part.text)
        reportRefusal(at, context)
        break
      case 'reasoning':
        if (part.text !== '') thoughts.push(part.text)
        reportReasoning(part, context)
        break
      case 'tool-call':
        calls.push(encodeCall(part, calls.length, context))
        break
      case 'media': {
        const image = encodeImage(part, context)
        if (image === undefined) break
        if (shape.isLimitedToOneImage && images.length > 0)
          context.report.add(loss(at, 'a response of /api/generate has one image; the others are left out'))
        else images.push(image)
        break
      }
      case 'native':
      case 'tool-result':
        reportLeftOut(part, context)
        break
      default:
        part satisfies never
    }
  }
  return {
    content: texts.join(''),
    ...(thoughts.length === 0 ? {} : { thinking: thoughts.join('\n\n') }),
    ...(images.length === 0 ? {} : { images }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

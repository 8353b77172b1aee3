import { estimateHeader, estimateTokens } from '../accounting/count-tokens.ts'
import { GatewayError } from '../base/errors.ts'
import type { Prepared } from '../calls/call.ts'
import { callHeaders, json } from '../calls/reply.ts'
import { type AnswerCall, toReply } from '../calls/send-response.ts'
import { tryTargets } from '../calls/try-targets.ts'
import type { Attempt } from '../config/plugin.ts'
import type { Tokenizer } from '../config/tokenizer.ts'
import { loadFullCodec } from '../formats/codec-registry.ts'
import type { Reply } from '../http/inbound.ts'
import { refusal } from '../routing/loss-policy.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { type CountRequest, decodeInput, prepareCount } from './count-lane.ts'
import type { Handler } from './handler.ts'

export interface CountCall extends AnswerCall, CountRequest {
  readonly codec: CountRequest['codec']
  readonly tokenizer: Tokenizer | undefined
}

export const handleCountTokens: Handler = async (call) => {
  const { setup, shared, route, inbound, record, transport, signal, end } = call
  const codec = await loadFullCodec(call.codec)
  const { count, modelPlaces } = codec
  if (count === undefined) throw new GatewayError('not_implemented', 'This format does not count tokens.')
  const received = await call.readBody(count.checkRequest)
  record.model = String(received.value.model)
  const request = await setup.resolveReferences(route, received, record.identity)
  const { tokenizer } = setup.config
  const target = { shared, inbound, codec, request, modelPlaces, record, transport, signal, end }
  return countTokens({ ...target, count, tokenizer, jsonArray: false })
}

/**
 * Counts a request's input: at the upstream where it counts, else as an estimate, marked by the header
 * `modelgate-estimate: tokens;by="…"`. Throws GatewayError.
 *
 * The first target that cannot count ends the search: no other vendor's tokenizer knows better than an estimate, and none is
 * shown a text that it would not get to answer.
 */
async function countTokens(call: CountCall): Promise<Reply> {
  const { attempts } = call.record
  let countless = false
  try {
    const given = (ready: Prepared | undefined): Prepared => {
      countless ||= ready === undefined
      if (ready === undefined) throw new GatewayError('not_implemented', 'The upstream does not count tokens.')
      return ready
    }
    const prepare = (target: ResolvedTarget): Prepared | Promise<Prepared> => {
      countless ||= doesNotCount(attempts.at(-1))
      const ready = countless ? undefined : prepareCount(call, target)
      return ready instanceof Promise ? ready.then(given) : given(ready)
    }
    return toReply(call, await tryTargets(call, prepare, { preferLossless: false, again: false }))
  } catch (error) {
    if (countless || doesNotCount(attempts.at(-1))) return await estimated(call)
    throw error
  }
}

const unknownEndpoint: readonly (number | undefined)[] = [404, 405, 501]

/** The endpoint is not there after all. (A model that is not there is another matter.) */
const doesNotCount = (last: Attempt | undefined): boolean =>
  unknownEndpoint.includes(last?.status) && last?.error !== undefined && last.error !== 'model_not_found'

async function estimated(call: CountCall): Promise<Reply> {
  const { shared, record, count, signal, tokenizer, inbound } = call
  const { body, input, report } = decodeInput(call)
  const refused = refusal(report.losses, 'ignore')
  if (refused !== undefined) throw refused
  const kept = count.stored.find((key) => body[key] !== undefined && body[key] !== null)
  if (kept !== undefined)
    throw new GatewayError(
      'invalid_request',
      `${kept}: what a provider has stored cannot be counted here. Send it as part of the request.`,
      { param: kept, code: 'unsupported_parameter' },
    )
  const { logger, limits } = shared
  const countTexts = inbound.countTokens?.bind(inbound)
  const estimate = await estimateTokens(input, {
    tokenizer,
    countTexts,
    logger,
    signal,
    callbackMs: limits.callbackMs,
  })
  record.estimate = estimate.by
  record.losses = report.losses
  return {
    status: 200,
    headers: {
      'content-type': json,
      ...callHeaders(record),
      'modelgate-estimate': estimateHeader(estimate),
    },
    body: JSON.stringify(count.write({ tokens: estimate.tokens })),
  }
}

import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { ExchangeContext, Machine } from '../codec.ts'
import type { Finish, ModelEvent } from '../ir.ts'
import { parseObjectExact } from '../shared/json-text.ts'
import { assignOwn } from '../shared/own-members.ts'
import { reportUnknown, shapesOf } from '../shared/shape.ts'
import { blockAt } from './blocks-decode.ts'
import { streamException } from './exceptions.ts'
import { decodeFinish } from './finish.ts'
import { decodeTier, endingExtra, tierShape } from './response-decode.ts'
import { type BlockDecoder, createPartWriter, openBlock } from './stream-block-decode.ts'
import { decodeUsage } from './usage.ts'

/**
 * Reads a stream of Converse, each frame as the event that it is named for. It ends with `metadata`, which holds the usage: one
 * that stops before has lost something.
 */
export function decodeStream(context: ExchangeContext): Machine<SseEvent, ModelEvent> {
  let out: ModelEvent[] = []
  let started = false
  let over = false
  let finish: Finish | undefined
  const ending: JsonObject = {}
  const open = new Map<Json, BlockDecoder>()
  const writer = createPartWriter(() => out)

  function fail(error: ErrorInfo): void {
    over = true
    out.push({ type: 'error', error })
  }
  const failBadly = (message: string): void => fail(new GatewayError('upstream_bad_response', message).info)

  function blockOf(index: Json, first: JsonObject): BlockDecoder {
    const at = typeof index === 'number' ? blockAt(index) : '/output/message/content'
    let block = open.get(index)
    // Only blocks that have something to say at their start are started.
    if (block === undefined) {
      block = openBlock(first, at, writer, context)
      open.set(index, block)
    }
    return block
  }
  function close(index: Json): void {
    open.get(index)?.stop()
    open.delete(index)
  }

  function read(type: string, event: JsonObject): void {
    if (/exception$/i.test(type)) {
      const { message, originalMessage } = event
      const said = typeof message === 'string' ? message : typeof originalMessage === 'string' ? originalMessage : ''
      fail(streamException(type, said).info)
      return
    }
    const index = event.contentBlockIndex ?? null
    const shape = eventShapes.get(type)
    if (shape !== undefined)
      reportUnknown(event, shape, typeof index === 'number' ? blockAt(index) : '', context.report)
    if (type === 'messageStart') {
      if (started) failBadly('The upstream began its answer anew in the middle of it.')
      else out.push({ type: 'response-start', id: '', model: '', created: 0 })
      started = true
      return
    }
    if (!started) {
      failBadly('The upstream began its stream with something that is no messageStart.')
      return
    }
    switch (type) {
      case 'contentBlockStart':
        close(index)
        if (isObject(event.start)) blockOf(index, event.start)
        break
      case 'contentBlockDelta':
        if (isObject(event.delta)) blockOf(index, event.delta).delta(event.delta)
        break
      case 'contentBlockStop':
        close(index)
        break
      case 'messageStop': {
        const { stopReason, ...rest } = event
        finish = decodeFinish(stopReason, rest.additionalModelResponseFields)
        assignOwn(ending, rest)
        break
      }
      case 'metadata':
        end(event)
        break
      default:
        out.push({ type: 'native', format: 'converse', value: { [type]: event } })
    }
  }

  function end({ usage: counted, serviceTier, ...rest }: JsonObject): void {
    if (finish === undefined) {
      failBadly('The upstream ended its answer without saying why.')
      return
    }
    for (const index of [...open.keys()]) close(index)
    const usage = decodeUsage(counted)
    const tier = decodeTier(serviceTier)
    if (isObject(serviceTier)) reportUnknown(serviceTier, tierShape, '/serviceTier', context.report)
    if (usage !== undefined) out.push({ type: 'usage', usage, ...(tier === undefined ? {} : { serviceTier: tier }) })
    const extra = endingExtra({ ...ending, ...rest })
    out.push({
      type: 'choice-end',
      choice: 0,
      finish,
      ...(extra === undefined ? {} : { extra: { converse: extra } }),
    })
    out.push({ type: 'response-end' })
    over = true
  }

  return {
    push({ event: type, data }) {
      if (over) return []
      out = []
      const event = parseObjectExact(data)
      if (event === undefined || type === undefined)
        failBadly('The upstream sent a stream event that is not a JSON object with a name.')
      else read(type, event)
      return out
    },
    end() {
      if (over) return []
      out = []
      fail(new GatewayError('upstream_truncated', 'The upstream broke off before the end of its answer.').info)
      return out
    },
  }
}

/** `p` is padding. What the other events say beyond these belongs to the ending. */
const eventShapes = shapesOf({
  messageStart: { role: true, p: true },
  contentBlockStart: { contentBlockIndex: true, start: true, p: true },
  contentBlockDelta: { contentBlockIndex: true, delta: true, p: true },
  contentBlockStop: { contentBlockIndex: true, p: true },
})

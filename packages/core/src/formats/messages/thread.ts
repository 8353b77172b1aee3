import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { TargetTraits, WireEdit } from '../codec.ts'

export const hasThread = ({ thread }: JsonObject): boolean => thread !== undefined && thread !== null

/** A thread is stored at Anthropic under the id of its last response. Other servers would silently answer without the earlier turns. */
export function wireEdit(body: JsonObject, { quirks }: TargetTraits): WireEdit | undefined {
  if (!hasThread(body)) return undefined
  if (quirks.threads !== true) throw threadRefused()
  return { set: {}, storesAnswer: true }
}

/** On this code, Anthropic's SDK sends the whole conversation instead. */
export function threadRefused(): GatewayError {
  const message =
    'thread: the model has no upstream that keeps threads. Send the whole conversation in `messages`, without `thread`.'
  const code = 'thread_unsupported_request'
  return new GatewayError('invalid_request', message, {
    param: 'thread',
    code,
    raw: {
      format: 'messages',
      value: {
        type: 'invalid_request_error',
        message,
        details: { error_code: code, unsupported: ['thread'] },
      },
    },
  })
}

import { GatewayError } from '../base/errors.ts'
import { hasExactNumbers, parseExact } from '../base/json/exact-number.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { Redactor } from '../upstreams/redaction/redactor.ts'

/** An upstream's whole JSON body, without the upstream's secrets. */
export interface AnswerBody {
  readonly value: JsonObject
  /** The very bytes that came, unless something had to be taken out. */
  readonly body: string | Uint8Array
  /** Present for bytes that are not UTF-8: JSON without the charset that such bytes do not have. */
  readonly contentType?: string
}

const decoder = new TextDecoder()

/**
 * The one place where whole JSON bodies of upstreams come in: whatever lane reads on, what is no content has been redacted. Throws
 * GatewayError `upstream_bad_response` for anything but an object.
 */
export function readAnswer(bytes: Uint8Array, redactor: Redactor): AnswerBody {
  const text = decoder.decode(bytes)
  const value = parse(text)
  const body = redactor.isClean(value) ? text : redactor.redactJson(text)
  if (body !== text) return { value: parse(body), body }
  return isReplaced(text, bytes) ? { value, body: bytes, contentType: 'application/json' } : { value, body: bytes }
}

/** Whether bytes were replaced because they are not UTF-8. Few texts hold the mark, so the bytes are rarely decoded again. */
function isReplaced(text: string, bytes: Uint8Array): boolean {
  if (!text.includes('\ufffd')) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return false
  } catch {
    return true
  }
}

/** The same for an answer that is written again: its numbers are exact. */
export function readExactAnswer(bytes: Uint8Array, redactor: Redactor): JsonObject {
  const { value, body } = readAnswer(bytes, redactor)
  const text = typeof body === 'string' ? body : decoder.decode(body)
  return hasExactNumbers(text) ? (parseExact(text) as JsonObject) : value
}

function parse(text: string): JsonObject {
  let body: Json
  try {
    body = JSON.parse(text) as Json
  } catch (cause) {
    throw new GatewayError('upstream_bad_response', 'The upstream answered with something that is not JSON.', { cause })
  }
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw new GatewayError('upstream_bad_response', 'The upstream answered with JSON that is not an object.')
  return body
}

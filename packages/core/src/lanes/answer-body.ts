import { GatewayError } from '../errors.ts'
import type { Json, JsonObject } from '../formats/ir.ts'
import { hasExactNumbers, parseExact } from '../json/exact-number.ts'
import type { Redactor } from '../redaction/redactor.ts'

/** An upstream's whole JSON body, without the upstream's secrets. */
export interface AnswerBody {
  readonly value: JsonObject
  /** The very bytes that came, unless something had to be taken out. */
  readonly body: string | Uint8Array
}

const decoder = new TextDecoder()

/**
 * The one place where whole JSON bodies of upstreams come in: whatever lane reads on, what is no content has been redacted. Throws
 * GatewayError `upstream_bad_response` for anything but an object.
 */
export function readAnswer(bytes: Uint8Array, redactor: Redactor): AnswerBody {
  const text = decoder.decode(bytes)
  const value = parse(text)
  if (redactor.isClean(value)) return { value, body: bytes }
  const body = redactor.json(text)
  return body === text ? { value, body: bytes } : { value: parse(body), body }
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

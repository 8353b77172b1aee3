import { GatewayError, tooManyValues } from '../../base/errors.ts'
import { editJson, spliceJson } from '../../base/json/edit.ts'
import { isObject, type Json, type JsonObject, scanJson } from '../../base/json/json.ts'
import type { Limits } from '../../config/limits.ts'
import type { ClientCodec, Codec, CountCodec } from '../../formats/codec.ts'
import { loadCodec } from '../../formats/codec-registry.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import { bodyKindOf } from './body-kinds.ts'

/** A count of a request in a vendor's format: the codec that reads it, and how the client gets the count. */
export interface VendorCount {
  readonly codec: ClientCodec
  readonly count: CountCodec
  readonly request: RequestBody
}

/**
 * Reads a request that another body holds as text, under the same limits as a body.
 *
 * @param text the request
 * @param model the model that the path names
 * @param client the client's own way to count, whose response it gets
 * @throws GatewayError `invalid_request` for a text that is no request in a format with token counts
 */
export async function readVendorCount(
  text: string,
  model: string,
  client: CountCodec,
  limits: Pick<Required<Limits>, 'depth' | 'values'>,
): Promise<VendorCount> {
  const { members, tooDeep, tooMany } = scanJson(text, limits.depth, limits.values)
  if (tooDeep) throw invalid(`the request is nested deeper than ${limits.depth} levels`)
  if (tooMany) throw tooManyValues(limits.values)
  let body: Json
  try {
    body = JSON.parse(text) as Json
  } catch {
    throw invalid('the request is not valid JSON')
  }
  if (!isObject(body)) throw invalid('the request is not a JSON object')
  const { operation, format } = bodyKindOf(body)
  if (operation !== 'generate') throw invalid('tokens of embeddings cannot be counted')
  const codec = await loadCodec(format)
  const own = codec.count ?? wholeBody(codec)
  const changed = hostFields.some((name) => Object.hasOwn(body, name))
    ? editJson(text, members, { model }, hostFields)
    : spliceJson(text, members, { model })
  const value: JsonObject = { ...body, model }
  for (const name of hostFields) delete value[name]
  own.checkRequest(value)
  return {
    codec,
    count: { ...own, encode: client.encode },
    request: {
      bytes: new TextEncoder().encode(changed),
      text: changed,
      members: scanJson(changed, Number.POSITIVE_INFINITY).members,
      value,
      fields: value,
    },
  }
}

/** Members of a hosted body that are no input, and that no counting endpoint accepts. */
const hostFields: readonly string[] = ['anthropic_version', 'anthropic_beta']

/** A format without an endpoint for counts: its requests are counted as they are. */
const wholeBody = (codec: Codec): CountCodec => ({
  checkRequest: codec.checkRequest,
  validateRequest: codec.validateRequest,
  toGeneration: (body) => ({ body, at: '' }),
  fromGeneration: (body) => body,
  decode: () => undefined,
  encode: () => ({}),
  storedFields: [],
})

const invalid = (reason: string): GatewayError =>
  new GatewayError('invalid_request', `input.invokeModel.body: ${reason}.`, { param: 'input.invokeModel.body' })

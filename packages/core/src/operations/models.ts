import { GatewayError } from '../errors.ts'
import type { Codec } from '../formats/codec.ts'
import type { JsonObject } from '../formats/ir.ts'

/** The models a caller may use, as the dialect lists them; a page of them where `query` asks for one. */
export const listModels = (codec: Codec, names: readonly string[], query: string): JsonObject =>
  codec.encodeModelList(names, new URLSearchParams(query))

/** One model, or 404 in the dialect's words. */
export function getModel(codec: Codec, name: string, known: boolean): JsonObject {
  if (!known)
    throw new GatewayError(
      'model_not_found',
      `The model '${name.slice(0, 100)}' does not exist or you do not have access to it.`,
      {
        param: 'model',
      },
    )
  return codec.encodeModel(name)
}

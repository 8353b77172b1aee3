import type { JsonObject } from '../base/json/json.ts'
import type { ModelDescription } from './model-card.ts'

/** Encodes lists of models in a client's format. */
export interface ModelListCodec {
  /**
   * Encodes the model list (`GET /v1/models`), and one entry of it. `query` selects a page; `created`: seconds since 1970, for formats whose
   * clients expect a time. Only the models of the page are described.
   *
   * @throws GatewayError `invalid_request` for a page that does not exist
   */
  encodeModelList(
    names: readonly string[],
    describe: (name: string) => ModelDescription,
    query: URLSearchParams,
    created: number,
  ): JsonObject
  encodeModel(model: ModelDescription, created: number): JsonObject
}

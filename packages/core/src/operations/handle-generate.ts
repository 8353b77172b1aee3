import type { JsonObject } from '../base/json/types.ts'
import { jsonReply } from '../calls/reply.ts'
import type { WireCodec } from '../formats/codec.ts'
import { fieldsOf } from '../formats/request-body.ts'
import type { Inbound } from '../http/inbound.ts'
import { asksToExplain, explainOverHttp } from './explain-over-http.ts'
import { generate } from './generate.ts'
import type { Handler } from './handler.ts'
import { likelyPasses } from './likely-passes.ts'
import { loadResponseStore } from './responses/store.ts'
import type { Route } from './routes.ts'

/** Chat generation in any format. */
export const handleGenerate: Handler = async (call) => {
  const { setup, shared, route, codec, inbound, record, transport, signal, end } = call
  const request = await call.readBody(codec.validation(), likelyPasses(setup, route, record))
  const fields = fieldsOf(request)
  record.model = String(fields.model)
  record.stream = fields.stream === true
  record.counted = { output: codec.outputBound }
  if (isBackground(codec, fields)) record.background = true
  if (asksToExplain(inbound)) return jsonReply(record, (await explainOverHttp(call, request)) as unknown as JsonObject)
  const jsonArray = record.stream && wantsArray(route, inbound)
  const { modelPlaces } = codec
  const generation = { shared, inbound, codec, request, modelPlaces, record, transport, signal, end, jsonArray }
  // Awaited here: a promise returned from an async function costs three turns of the microtask queue.
  if (route.usesStoredResponses === true && (setup.keepsResponses || request.outline === undefined)) {
    const { generateAndStore } = await loadResponseStore()
    return await generateAndStore(generation, await setup.recordsOf(record.identity))
  }
  const checking = setup.checkReferences(route, request, record.identity)
  if (checking !== undefined) await checking
  return await generate(generation)
}

function isBackground({ background }: WireCodec, fields: JsonObject): boolean {
  if (background === undefined) return false
  for (const field of background) if (fields[field] === true) return true
  return false
}

const wantsArray = ({ eventsIf }: Route, { query }: Inbound): boolean =>
  eventsIf !== undefined && new URLSearchParams(query).get(eventsIf.name) !== eventsIf.value

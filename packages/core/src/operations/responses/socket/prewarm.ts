import { newId } from '../../../base/bytes.ts'
import type { JsonObject } from '../../../base/json/json.ts'
import { callHeaders } from '../../../calls/reply.ts'
import { oneChunk } from '../../../calls/response-body.ts'
import { planFor } from '../../../calls/try-targets.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import type { Reply } from '../../../http/inbound.ts'
import { encodeAllSse, encodeText } from '../../../http/sse/encode.ts'
import type { Generation } from '../../../lanes/lane.ts'
import type { Handler, RoutedCall } from '../../route.ts'
import { generateAndStore } from '../generate-and-store.ts'

/**
 * Handles `generate: false`: the client sends instructions, tools and input before it needs a response, and continues from the id that
 * it receives. No upstream is called. The call counts as one request without tokens.
 */
export const handlePrewarm: Handler = async (call) => {
  const { snapshot, codec, record } = call
  const request = await call.readBody(codec.loadRequestCheck())
  record.model = String(request.fields.model)
  record.stream = true
  return await generateAndStore(call, request, await snapshot.recordsOf(record.identity), respond)
}

async function respond(
  { shared, codec, record, end }: RoutedCall,
  request: RequestBody,
  state: Pick<Generation, 'kept' | 'stored'>,
): Promise<Reply> {
  // The call is admitted already. It needs no tokens for what it refers to.
  planFor({ shared, record, request, modelPlaces: codec.modelPlaces })
  record.firstEventAt = performance.now()
  record.usage = { input: { total: 0 }, output: { total: 0 } }
  const response = responseTo(request.value, record.model, state.kept)
  end({ status: 200, outcome: 'finished' })
  const events = encodeAllSse([
    eventOf('response.created', 0, { ...response, status: 'in_progress', usage: null }),
    eventOf('response.completed', 1, response),
  ])
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8', ...callHeaders(record) },
    body: oneChunk(encodeText(events)),
  }
}

const eventOf = (type: string, number: number, response: JsonObject) => ({
  event: type,
  data: JSON.stringify({ type, sequence_number: number, response }),
})

/** Returns a response without output that repeats the request's settings. */
function responseTo(request: JsonObject, model: string, kept: Generation['kept']): JsonObject {
  const now = Math.floor(Date.now() / 1000)
  return {
    id: newId('resp_'),
    object: 'response',
    created_at: now,
    completed_at: now,
    status: 'completed',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    model,
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: kept?.previous ?? null,
    reasoning: request.reasoning ?? { effort: null, summary: null },
    store: kept !== undefined && kept.inConnection !== true,
    temperature: request.temperature ?? 1,
    text: request.text ?? { format: { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? 'disabled',
    usage: {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    },
  }
}

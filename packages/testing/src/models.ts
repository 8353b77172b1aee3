import type { WireError } from './errors.ts'
import type { FakeFormat, JsonObject } from './types.ts'

/** What is listed when the options name no models. */
export const demoModels: readonly string[] = ['demo-chat', 'demo-messages']

const created = 1_767_225_600

/** The list of models in the format's shape. */
export function modelList(format: FakeFormat, models: readonly string[]): JsonObject {
  const data = models.map((id) => modelEntry(format, id))
  if (format === 'chat') return { object: 'list', data }
  return { data, has_more: false, first_id: models[0] ?? null, last_id: models.at(-1) ?? null }
}

/** One model in the format's shape. */
export const modelEntry = (format: FakeFormat, id: string): JsonObject =>
  format === 'chat'
    ? { id, object: 'model', created, owned_by: 'modelgate-testing' }
    : { type: 'model', id, display_name: id, created_at: new Date(created * 1000).toISOString().replace('.000', '') }

/** What is said about a model that does not exist. */
export const unknownModel = (format: FakeFormat, model: string): WireError =>
  format === 'chat'
    ? {
        status: 404,
        type: 'invalid_request_error',
        code: 'model_not_found',
        message: `The model \`${model}\` does not exist or you do not have access to it.`,
      }
    : { status: 404, type: 'not_found_error', message: `model: ${model}` }

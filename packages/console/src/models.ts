import type { Inbound, ModelDescription, PluginHost, Reply } from '@modelgate/core'
import { dataReply } from './replies.ts'

/** Response of `console/models.json`: the models that the caller may use. Names no upstream. */
export interface Models {
  readonly models: readonly ModelDescription[]
}

/** Credentials in all their forms: the gateway decides which one counts. */
const credentials = ['authorization', 'x-api-key', 'x-goog-api-key'] as const

/** Describes the models that the holder of a token may use. The gateway's own model list checks the token, and responds if it is rejected. */
export async function describeModels(gateway: PluginHost, inbound: Inbound, mount: string): Promise<Reply> {
  const headers = new Headers()
  for (const name of credentials) {
    const value = inbound.header(name)
    if (value !== undefined) headers.set(name, value)
  }
  const response = await gateway.fetch(new Request(`http://gateway${mount}/v1/models`, { headers }))
  const text = await response.text()
  if (!response.ok) return { ...dataReply(null), status: response.status, body: text }
  const { data } = JSON.parse(text) as { readonly data: readonly { readonly id: string }[] }
  const models = await gateway.describeModels(data.map(({ id }) => id))
  return dataReply({ models } satisfies Models)
}

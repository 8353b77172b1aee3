import type { RequestListener } from 'node:http'
import type { Gateway } from '@modelgate/core'
import { createNodeHandler, type NodeOptions } from './handler.ts'

/** Creates a listener for `http.createServer` that passes every request to the gateway. Unknown paths get its JSON 404. */
export function nodeListener(gateway: Gateway, options?: NodeOptions): RequestListener {
  const handle = createNodeHandler(gateway, options)
  return (req, res) => handle(req, res)
}

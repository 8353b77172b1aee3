import type { RequestListener } from 'node:http'
import type { Gateway } from '@modelgate/core'
import { createNodeHandler, type NodeOptions } from './handler.ts'

/** A listener for `http.createServer`: every request is the gateway's, unknown paths get its JSON 404. */
export function nodeListener(gateway: Gateway, options?: NodeOptions): RequestListener {
  const handle = createNodeHandler(gateway, options)
  return (req, res) => handle(req, res)
}

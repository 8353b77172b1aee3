import type { Gateway } from '@modelgate/core'
import { createNodeHandler, type NodeOptions } from '@modelgate/node'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { routesOf } from './routes-of.ts'

/**
 * The gateway as a plugin: `app.register(fastifyPlugin(gateway))`, or under a prefix, `{ prefix: '/ai' }`. Its routes
 * are ordinary Fastify routes, so the host's hooks up to `preHandler` run before them and `onResponse` after them;
 * bodies are not parsed. A path that the gateway turns out not to answer gets the host's 404.
 */
export function fastifyPlugin(gateway: Gateway, options?: NodeOptions): FastifyPluginAsync {
  const handle = createNodeHandler(gateway, options)

  const plugin: FastifyPluginAsync = async (instance) => {
    const depth = instance.prefix.split('/').length - 1

    const answer = (request: FastifyRequest, reply: FastifyReply): void => {
      const url = below(request.raw.url ?? '/', depth)
      if (!handle.matches(request.raw, url)) {
        reply.callNotFound()
        return
      }
      reply.hijack()
      // What hooks have put on the reply (CORS, request ids) would be lost with it.
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value)
      handle(request.raw, reply.raw, url)
    }

    // This instance is our own: the parsers of the host stay as they are.
    instance.removeAllContentTypeParsers()
    instance.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
    instance.setErrorHandler((error, request, reply) => {
      // Fastify judges the content type before any parser; the gateway has an answer to that in the client's dialect.
      if (isContentTypeError(error)) answer(request, reply)
      else throw error
    })
    const { ignoreTrailingSlash, routerOptions } = instance.initialConfig
    const trims = routerOptions?.ignoreTrailingSlash ?? ignoreTrailingSlash ?? false
    for (const [url, method] of routesOf(gateway, instance.supportedMethods)) {
      if (url.endsWith('/') && trims) continue
      // Known to @fastify/compress: encoded bodies are the gateway's business.
      const hints = { compress: false, decompress: false }
      instance.route({ ...hints, url, method: method as HTTPMethods[], handler: answer })
    }
  }
  return Object.assign(plugin, { [Symbol.for('fastify.display-name')]: '@modelgate/fastify' })
}

/** What remains of a path without its first segments: those of the prefix, whose parameters may be of any length. */
function below(url: string, depth: number): string {
  let start = 0
  for (let i = 0; i < depth; i++) start = url.indexOf('/', start + 1)
  return start < 0 ? '/' : url.slice(start)
}

const isContentTypeError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'

import type { Gateway } from '@modelgate/core'
import { createNodeHandler, type NodeOptions } from '@modelgate/node'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { fastifyRoutes } from './fastify-routes.ts'

/**
 * Creates a plugin that serves the gateway: `app.register(fastifyPlugin(gateway))`, or under a prefix, `{ prefix: '/ai' }`. It
 * registers ordinary Fastify routes, so the host's hooks up to `preHandler` run before them and `onResponse` after them. Bodies are
 * not parsed. A path that matches a wildcard but that the gateway does not serve gets the host's 404.
 */
export function fastifyPlugin(gateway: Gateway, options?: NodeOptions): FastifyPluginAsync {
  const handle = createNodeHandler(gateway, options)

  const plugin: FastifyPluginAsync = async (instance) => {
    const depth = instance.prefix.split('/').length - 1
    const sharesRoot = depth === 0

    const handleRequest = (request: FastifyRequest, reply: FastifyReply): void => {
      const url = removeSegments(request.raw.url ?? '/', depth)
      if (!handle.matches(request.raw, url, sharesRoot)) {
        reply.callNotFound()
        return
      }
      reply.hijack()
      // `hijack` drops the headers that hooks have set on the reply (CORS, request ids).
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value)
      handle(request.raw, reply.raw, url)
    }

    // The plugin has its own instance, so the host's parsers do not change.
    instance.removeAllContentTypeParsers()
    instance.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
    instance.setErrorHandler((error, request, reply) => {
      // Fastify checks the content type before any parser runs; the gateway reports this error in the client's format.
      if (isContentTypeError(error)) handleRequest(request, reply)
      else throw error
    })
    const { ignoreTrailingSlash, routerOptions } = instance.initialConfig
    const ignoresTrailingSlash = routerOptions?.ignoreTrailingSlash ?? ignoreTrailingSlash ?? false
    for (const [url, method] of fastifyRoutes(gateway, instance.supportedMethods, sharesRoot)) {
      if (url.endsWith('/') && ignoresTrailingSlash) continue
      // Options of @fastify/compress: the gateway decodes bodies itself.
      const compressOptions = { compress: false, decompress: false }
      instance.route({ ...compressOptions, url, method: method as HTTPMethods[], handler: handleRequest })
    }
  }
  return Object.assign(plugin, { [Symbol.for('fastify.display-name')]: '@modelgate/fastify' })
}

/** Removes the first segments of a path: those of the prefix, which may contain parameters. */
function removeSegments(url: string, depth: number): string {
  let start = 0
  for (let i = 0; i < depth; i++) start = url.indexOf('/', start + 1)
  return start < 0 ? '/' : url.slice(start)
}

const isContentTypeError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'

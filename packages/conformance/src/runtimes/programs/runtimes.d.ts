// Parts of the runtimes' APIs without types in this repository.

declare const Bun: {
  readonly version: string
  serve(options: {
    port: number
    hostname: string
    idleTimeout: number
    fetch(request: Request): Response | Promise<Response>
  }): { readonly url: URL; readonly port: number }
}

declare const Deno: {
  readonly version: { readonly deno: string }
  readonly env: { toObject(): Record<string, string> }
  serve(
    options: { port: number; hostname: string; onListen(address: { port: number }): void },
    fetch: (request: Request) => Response | Promise<Response>,
  ): unknown
}

declare module 'cloudflare:workers' {
  export const env: Readonly<Record<string, string>>
}

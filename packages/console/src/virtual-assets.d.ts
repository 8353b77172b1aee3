/** Output of build/build-assets.mjs from src/ui. */
declare module 'virtual:console-assets' {
  /** A file below `console/assets/`, named by the hash of its content. */
  interface Asset {
    readonly name: string
    readonly type: string
    readonly body: string
  }
  interface Page {
    readonly html: string
    /** Sources for `script-src`: the hashes of the page's inline scripts. */
    readonly scripts: readonly string[]
    readonly etag: string
  }
  export const version: string
  /** `homepage` of the package.json. */
  export const homepage: string | undefined
  export const assets: readonly Asset[]
  export const pages: {
    readonly home: Page
    readonly playground: Page
    readonly calls: Page
    readonly usage: Page
    readonly tokens: Page
  }
}

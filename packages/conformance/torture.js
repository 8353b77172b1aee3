// Entry point of `pnpm torture`.
import { runKit } from './kit.js'

await runKit('torture', ['main', 'gateway-process', 'secrets/hostile-client', 'complexity/measuring-process'])

export * from '@modelgate/core'
export { defineConfig, type ModelgateConfig } from './config/define-config.ts'
export type { RedisSettings } from './config/redis-settings.ts'

import { Module, type DynamicModule } from '@nestjs/common';
import { CertificateIssuer } from './certificate-issuer.js';
import { KeysController } from './keys.controller.js';

@Module({})
export class KeysModule {
  static around(issuer: CertificateIssuer): DynamicModule {
    return {
      module: KeysModule,
      controllers: [KeysController],
      providers: [{ provide: CertificateIssuer, useValue: issuer }],
    };
  }
}

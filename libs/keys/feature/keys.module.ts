import { Module, type DynamicModule } from '@nestjs/common';
import { CertificateIssuer } from './certificate-issuer.js';
import { KeysController } from './keys.controller.js';
import { Revocations } from './revocations.js';
import { Rotation } from './rotation.js';

@Module({})
export class KeysModule {
  static around(issuer: CertificateIssuer, revocations: Revocations, rotation: Rotation): DynamicModule {
    return {
      module: KeysModule,
      controllers: [KeysController],
      providers: [
        { provide: CertificateIssuer, useValue: issuer },
        { provide: Revocations, useValue: revocations },
        { provide: Rotation, useValue: rotation },
      ],
    };
  }
}
